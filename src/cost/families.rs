//! The figures of each family of models: one table. A model that it does not know counts like gpt-4o.
//!
//! Sources of the images: `OpenAI`, "Images and vision" (developers.openai.com/api/docs/guides/images-vision); Anthropic,
//! "Vision" (platform.claude.com/docs/en/build-with-claude/vision); Google, "Image understanding" and "Media resolution"
//! (ai.google.dev/gemini-api/docs). Where a guide and what is billed differ, the larger figure stands here, so that a ceiling
//! holds. Of seconds of audio: `LiteLLM`'s token counter, Google's "Audio understanding".

use super::{FIGURES, Figures};

impl Figures {
    /// The figures of a model, by how its name begins behind `ft:` or a path of providers (`openai/`).
    #[must_use]
    pub fn of(model: &str) -> Self {
        let name = match model.strip_prefix("ft:") {
            Some(tuned) => tuned,
            None => model.rsplit('/').next().unwrap_or(model),
        };
        FAMILIES
            .iter()
            .find(|(prefixes, _)| prefixes.iter().any(|prefix| name.starts_with(prefix)))
            .map_or(FIGURES, |&(_, figures)| figures)
    }

    /// The same with what a tool costs in the encoding of that name, which knows better than a model's: the cookbook's 10 in
    /// `cl100k_base`, 7 in any other.
    #[must_use]
    pub fn for_encoding(self, encoding: &str) -> Self {
        let tool = if encoding == "cl100k_base" {
            CL100K_TOOL
        } else {
            FIGURES.tool
        };
        Self { tool, ..self }
    }
}

/// For each tool where the encoding is `cl100k_base`. Source: the cookbook, section 6.
const CL100K_TOOL: u32 = 10;

/// How the names of a family begin, and its figures; the first that matches decides.
const FAMILIES: &[(&[&str], Figures)] = &[
    (&["gpt-4o-mini"], tiles(2_833, 5_667)),
    (&["gpt-4.1-mini"], patches(162, 1_536)),
    (&["gpt-4.1-nano"], patches(246, 1_536)),
    (&["gpt-4o", "gpt-4.1", "gpt-4.5"], FIGURES),
    (
        &["gpt-4", "gpt-3.5", "gpt-35"],
        Figures {
            tool: CL100K_TOOL,
            ..FIGURES
        },
    ),
    // Billed as 1.2 and 1.5 in 2026; the guide has had these.
    (&["gpt-5-mini", "gpt-5.4-mini"], patches(162, 1_536)),
    (&["gpt-5-nano", "gpt-5.4-nano"], patches(246, 1_536)),
    // 2,048 pixels are 4,096 patches, fewer than the 6,144 that there may be.
    (
        &["gpt-5.2", "gpt-5.3"],
        Figures {
            image_long: 2_048,
            ..patches(120, 6_144)
        },
    ),
    // As many as at detail "original"; at "high" an image is shrunk to 2,500.
    (&["gpt-5.4", "gpt-5.5"], patches(120, 10_000)),
    (&["gpt-5.1"], tiles(70, 140)),
    // Later ones are not shrunk at all.
    (&["gpt-5.", "gpt-6"], patches(120, 0)),
    (&["gpt-5"], tiles(70, 140)),
    (&["o1", "o3"], tiles(75, 150)),
    (&["o4-mini"], patches(172, 1_536)),
    (
        &[
            "claude-opus-4-7",
            "claude-opus-4.7",
            "claude-opus-4-8",
            "claude-opus-4.8",
        ],
        claude(2_576, 4_784),
    ),
    (
        &[
            "claude-instant",
            "claude-2",
            "claude-3",
            "claude-haiku-4",
            "claude-sonnet-4",
            "claude-opus-4",
        ],
        claude(1_568, 1_568),
    ),
    (&["claude-"], claude(2_576, 4_784)),
    (&["gemini-1", "gemini-2"], GEMINI_TILES),
    (&["gemini-"], GEMINI_BUDGET),
];

/// Charged by tiles of 512 x 512 after two steps of shrinking; at low detail the base alone.
const fn tiles(base: u32, tile: u32) -> Figures {
    Figures {
        image_low: base,
        image: base + 4 * tile,
        image_base: base,
        image_tile: tile,
        ..FIGURES
    }
}

/// Charged by patches of 32 x 32, `most` of them, times a multiplier. Low detail shrinks to 512 x 512.
const fn patches(percent: u32, most: u32) -> Figures {
    Figures {
        image_low: (16 * 16 * percent).div_ceil(100),
        image: (32 * 32 * percent).div_ceil(100),
        image_base: 0,
        image_tile: 1,
        image_percent: percent,
        image_cell: 32,
        image_cells: most,
        image_whole: 1,
        image_long: 0,
        image_short: 0,
        ..FIGURES
    }
}

/// Charged by patches of 28 x 28. There is no low detail: asking for it changes nothing.
const fn claude(long: u32, most: u32) -> Figures {
    Figures {
        image_low: u32::MAX,
        image: 37 * 37,
        image_base: 0,
        image_tile: 1,
        image_cell: 28,
        image_cells: most,
        image_long: long,
        image_short: 0,
        ..FIGURES
    }
}

/// 258 for each tile of 768 x 768; small images are one. Nor is there a low detail.
const GEMINI_TILES: Figures = Figures {
    image_low: u32::MAX,
    image: 4 * 258,
    image_base: 0,
    image_tile: 258,
    image_cell: 768,
    image_long: 0,
    image_short: 0,
    audio_second: 32,
    ..FIGURES
};

/// Since Gemini 3 an image has a budget by its resolution: here of `MEDIA_RESOLUTION_HIGH` and `_LOW`, whatever its size.
const GEMINI_BUDGET: Figures = Figures {
    image_low: 280,
    image: 1_120,
    image_cell: 0,
    audio_second: 25,
    ..GEMINI_TILES
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_known_by_how_its_name_begins() {
        for model in [
            "gpt-4o",
            "gpt-4.1-2025-04-14",
            "chatgpt-4o-latest",
            "",
            "llama",
            "ft:gpt-4o:me/it",
        ] {
            assert_eq!(Figures::of(model), FIGURES, "{model}");
        }
        assert_eq!(Figures::of("openai/gpt-4o-mini").image_base, 2_833);
        assert_eq!(Figures::of("ft:gpt-4o-mini:acme/x").image_base, 2_833);
        assert_eq!(Figures::of("gpt-5.1-chat").image_base, 70);
        assert_eq!(Figures::of("gpt-5-2025-08-07").image_base, 70);
        assert_eq!(Figures::of("gpt-5.6-luna").image_cells, 0);
        assert_eq!(
            Figures::of("openrouter/anthropic/claude-opus-4.7").image_cells,
            4_784
        );
        assert_eq!(Figures::of("claude-opus-4-1-20250805").image_cells, 1_568);
        assert_eq!(Figures::of("gpt-4-turbo").tool, 10);
        assert_eq!(Figures::of("gpt-3.5-turbo").tool, 10);
    }

    #[test]
    fn what_an_image_of_unknown_size_costs_is_one_of_1024() {
        let square = crate::media::ImageSize::new(1024, 1024);
        for (_, figures) in FAMILIES {
            assert_eq!(figures.image_tokens(square), u64::from(figures.image));
        }
    }

    #[test]
    fn figures_are_their_values() {
        for (_, figures) in FAMILIES {
            assert_eq!(Figures::from_values(figures.values()), *figures);
        }
        assert_eq!(Figures::NAMES[0], "reply");
        assert_eq!(FIGURES.values()[0], FIGURES.reply);
    }
}
