//! What an image of known size costs: one formula whose figures make it any vendor's. `docs/rules.md`, section 2.

use super::Figures;
use crate::media::ImageSize;

impl Figures {
    /// Tokens of an image that is not at low detail.
    pub(super) fn image_tokens(&self, size: Option<ImageSize>) -> u64 {
        let Some(size) = size.filter(|_| self.image_cell > 0) else {
            return self.image.into();
        };
        let sum = u128::from(self.image_base)
            + u128::from(self.image_tile) * u128::from(self.cells(size));
        let tokens = (sum * u128::from(self.image_percent)).div_ceil(100);
        u64::try_from(tokens).unwrap_or(u64::MAX).min(MOST)
    }

    /// Cells that cover an image once it is shrunk. A side is rounded up, so that a ceiling holds. Which side is the width makes
    /// no difference, so neither does the orientation that a camera notes.
    fn cells(&self, size: ImageSize) -> u64 {
        let (width, height) = (
            u64::from(size.width().get()),
            u64::from(size.height().get()),
        );
        // The scale as a fraction: the smallest that one of the sides asks for.
        let (mut scale, mut of) = (1, 1);
        for (most, side) in [
            (self.image_long, width.max(height)),
            (self.image_short, width.min(height)),
        ] {
            let most = u64::from(most);
            if most > 0 && most * of < scale * side {
                (scale, of) = (most, side);
            }
        }
        let along = |side: u64| (side * scale).div_ceil(of * u64::from(self.image_cell));
        let cells = along(width) * along(height);
        let most = u64::from(self.image_cells);
        if most == 0 || cells <= most {
            cells
        } else if self.image_whole == 0 {
            most
        } else {
            shrunk(width, height, most)
        }
    }
}

/// No image costs more, so that sums cannot overflow.
const MOST: u64 = u32::MAX as u64;

/// Cells of an image that is shrunk to at most `most` of them, and then until whole ones lie along one side.
///
/// Source: `OpenAI`, "Images and vision", patch-based models; 1800 x 2400 shrinks to 33 x 44 of 1,536 there. The guide's floats
/// as whole numbers: with w x h pixels, sqrt(most x w / h) cells lie along the width.
fn shrunk(width: u64, height: u64, most: u64) -> u64 {
    let across = (most * width / height).isqrt();
    let down = (most * height / width).isqrt();
    if across == 0 || down == 0 {
        // Narrower than a cell, for which the guide has no answer.
        return most;
    }
    if across * height <= down * width {
        across * (across * height).div_ceil(width)
    } else {
        down * (down * width).div_ceil(height)
    }
}

#[cfg(test)]
mod tests {
    use super::super::FIGURES;
    use super::*;

    fn cost(model: &str, width: u16, height: u16) -> u64 {
        Figures::of(model).image_tokens(ImageSize::new(width.into(), height.into()))
    }

    #[test]
    fn tiles_are_those_of_the_guide() {
        for (width, height, tokens) in [
            (1024, 1024, 765),
            (2048, 4096, 1_105),
            (512, 512, 255),
            (1, 1, 255),
            (513, 512, 425),
            (65_535, 1, 85 + 4 * 170),
            // 768 x 768 after the shorter side was shrunk
            (8_000, 8_000, 765),
        ] {
            assert_eq!(cost("gpt-4o", width, height), tokens, "{width} x {height}");
            assert_eq!(cost("gpt-4o", height, width), tokens, "{height} x {width}");
        }
        assert_eq!(cost("gpt-4o-mini", 1024, 1024), 2_833 + 4 * 5_667);
        assert_eq!(cost("gpt-5", 1024, 1024), 70 + 4 * 140);
        assert_eq!(cost("o1", 1024, 1024), 75 + 4 * 150);
    }

    #[test]
    fn patches_are_those_of_the_guide() {
        // 1,024 x 1.62 and 1,452 x 1.62, rounded up
        assert_eq!(cost("gpt-4.1-mini", 1024, 1024), 1_659);
        assert_eq!(cost("gpt-4.1-mini", 1800, 2400), 2_353);
        assert_eq!(cost("gpt-4.1-mini", 2400, 1800), 2_353);
        assert_eq!(cost("gpt-4.1-mini", 1, 65_535), 2_489);
        assert_eq!(cost("gpt-5.4", 1920, 1080), 2_448);
    }

    #[test]
    fn other_vendors() {
        assert_eq!(cost("claude-sonnet-4-5", 1000, 1000), 1_296);
        assert_eq!(cost("claude-sonnet-4-5", 8000, 8000), 1_568);
        assert_eq!(cost("claude-opus-4-7", 1920, 1080), 2_691);
        assert_eq!(cost("claude-opus-4-7", 8000, 8000), 4_784);
        assert_eq!(cost("gemini-2.5-pro", 384, 384), 258);
        assert_eq!(cost("gemini-2.5-pro", 769, 768), 516);
        assert_eq!(cost("gemini-3-pro", 4000, 3000), 1_120);
    }

    #[test]
    fn no_figure_is_too_large() {
        let most = Figures::from_values([u32::MAX; Figures::NAMES.len()]);
        let size = ImageSize::new(65_535, 65_535);
        assert_eq!(most.image_tokens(size), MOST);
        let finest = Figures {
            image_cell: 1,
            image_cells: 0,
            image_long: 0,
            image_short: 0,
            ..most
        };
        assert_eq!(finest.image_tokens(size), MOST);
        let whole = Figures {
            image_cells: 7,
            image_whole: 1,
            ..finest
        };
        assert_eq!(whole.image_tokens(size), MOST);
        let nothing = Figures::from_values([0; Figures::NAMES.len()]);
        assert_eq!(nothing.image_tokens(size), 0);
        assert_eq!(FIGURES.image_tokens(None), 765);
    }
}
