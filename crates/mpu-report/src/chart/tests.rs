use super::*;

fn line(name: &str) -> Series {
    let points = (1..=30).map(|x| {
        let y = 60.0 + 39.0 * (1.0 - 1.0 / f64::from(x));
        Point::new(f64::from(x), y).spread(Some(2.0))
    });
    Series::new(name, Mark::Line, points)
}

fn sample() -> Figure {
    let bars = |name: &str| {
        Series::new(
            name,
            Mark::Bars,
            [
                Point::new(0.0, 1.0),
                Point::new(1.0, -2.0).spread(Some(0.5)),
            ],
        )
    };
    let ticks = [(0.0, "first".to_owned()), (1.0, "second".to_owned())];
    Figure::new("All kinds")
        .columns(2)
        .with(
            Plot::new("lines", "epoch", "%")
                .y_bounds(0.0, 100.0)
                .with(line("a"))
                .with(line("b")),
        )
        .with(
            Plot::new("bars", "", "n")
                .x_ticks(ticks)
                .with(bars("a"))
                .with(bars("b")),
        )
        .with(HeatMap::new(
            "matrix",
            Shading::Diverging,
            2,
            vec![vec![Some(1.5), None], vec![Some(-0.25), Some(f64::NAN)]],
        ))
        .note("A note.")
}

/// Parses SVG and returns its view box's size.
fn size_of(svg: &str) -> (f64, f64) {
    let tree = roxmltree::Document::parse(svg).unwrap();
    let root = tree.root_element();
    assert!(root.has_attribute("aria-label"));
    let numbers: Vec<f64> = root
        .attribute("viewBox")
        .unwrap()
        .split(' ')
        .map(|n| n.parse().unwrap())
        .collect();
    (numbers[2], numbers[3])
}

#[test]
fn drawings_are_well_formed_and_always_the_same() {
    let svg = sample().to_svg();
    assert_eq!(svg, sample().to_svg());
    assert_eq!(size_of(&svg).0, 776.0);
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
    let narrow = sample().columns(1).to_svg();
    assert_eq!(size_of(&narrow).0, 380.0);
    for panel in sample().panels() {
        assert_eq!(size_of(&panel.to_svg()).0, 380.0);
    }
    assert_eq!(sample().to_html().matches("<svg").count(), 3);
}

#[test]
fn no_text_is_smaller_than_twelve_or_leaves_the_panel() {
    let svg = sample().columns(1).to_svg();
    let tree = roxmltree::Document::parse(&svg).unwrap();
    for text in tree.descendants().filter(|node| node.has_tag_name("text")) {
        let number = |name: &str| -> f64 { text.attribute(name).unwrap().parse().unwrap() };
        let (x, size) = (number("x"), number("font-size"));
        assert!(size >= 12.0);
        let width = markup::text_width(text.text().unwrap_or(""), size);
        let (left, right) = match text.attribute("text-anchor").unwrap() {
            "start" => (x, x + width),
            "end" => (x - width, x),
            _ => (x - 0.5 * width, x + 0.5 * width),
        };
        // The turned title of a heat map's rows stands about the origin of its own group.
        let turned = x == 0.0;
        assert!(
            turned || (left >= 0.0 && right <= 380.0),
            "{:?}",
            text.text()
        );
    }
}

#[test]
fn names_are_escaped_wherever_they_stand() {
    let evil = "</svg><script>\"a\" & 'b'\u{0}";
    let plot = Plot::new(evil, evil, evil)
        .subtitle(evil)
        .with(line(evil))
        .notice(evil);
    let plot = plot.x_ticks([(1.0, evil.to_owned()), (30.0, evil.to_owned())]);
    let names = [evil.to_owned()];
    let map = HeatMap::new(evil, Shading::Sequential, 0, vec![vec![Some(1.0)]])
        .axes(evil, evil)
        .subtitle(evil)
        .names(&names, &names);
    let figure = Figure::new(evil).note(evil).with(plot).with(map);
    size_of(&figure.to_svg());
    assert!(!figure.to_svg().contains("<script") && !figure.to_html().contains("<script"));
}

#[test]
fn odd_values_are_gaps_and_odd_shapes_are_drawn() {
    let values = [1.0, f64::NAN, 3.0, f64::INFINITY, 1e308, -1e308, 0.0];
    let points = || {
        values
            .iter()
            .enumerate()
            .map(|(x, &y)| Point::new(x as f64, y))
    };
    for mark in [Mark::Line, Mark::Points, Mark::Bars] {
        let spread = points().map(|p| p.spread(Some(f64::NAN)));
        let plot = Plot::new("odd", "x", "y").with(Series::new("s", mark, spread));
        let svg = Panel::from(plot).to_svg();
        size_of(&svg);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
    let empty = Plot::new("", "", "").with(Series::new("", Mark::Line, []));
    size_of(&Figure::new("").with(empty).to_svg());
    size_of(&Figure::new("no panels").to_svg());
    for cells in [
        vec![],
        vec![vec![]],
        vec![vec![Some(1e12)], vec![]],
        vec![vec![None; 40]; 40],
    ] {
        size_of(&Panel::from(HeatMap::new("m", Shading::Sequential, 3, cells)).to_svg());
    }
}

fn intervals(row: IntervalRow) -> Panel {
    let panel = Intervals::new("priors", "prior", ["a", "b"]).subtitle("95 %");
    Panel::from(panel.with(row))
}

#[test]
fn intervals_of_odd_values_are_drawn() {
    let odd = [f64::NAN, f64::INFINITY, 1e308, -1.0, 0.0];
    for (i, &value) in odd.iter().enumerate() {
        let other = odd[(i + 1) % odd.len()];
        let estimate = |value| Estimate {
            value,
            interval: Some((value, other)),
        };
        let svg = intervals(IntervalRow {
            name: "<a name that is far too long for the room that names have & more>".to_owned(),
            bounds: (Some(value), Some(other)),
            truth: Some(other),
            used: Some(value),
            estimates: vec![Some(estimate(value)), None, Some(estimate(0.5))],
        })
        .to_svg();
        size_of(&svg);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
    size_of(&Panel::from(Intervals::new("", "", [""])).to_svg());
    let empty = Intervals::new("t", "x", ["s"]);
    assert!(Panel::from(empty).to_svg().contains("nothing to show"));
}

#[test]
fn an_open_range_reaches_the_end_and_a_closed_one_its_bounds() {
    let row = |bounds| IntervalRow {
        name: "c".to_owned(),
        bounds,
        truth: Some(1.0),
        used: Some(0.0),
        estimates: Vec::new(),
    };
    let width = |bounds| -> f64 {
        let svg = intervals(row(bounds)).to_svg();
        let tree = roxmltree::Document::parse(&svg).unwrap();
        let range = tree
            .descendants()
            .find(|n| n.attribute("class") == Some("mpu-range"));
        range.unwrap().attribute("width").unwrap().parse().unwrap()
    };
    let (open, half) = (width((Some(0.0), None)), width((Some(0.0), Some(0.5))));
    assert!((open - 2.0 * half).abs() < 0.05, "{open} {half}");
}

#[test]
fn wide_panels_have_the_room_they_need_and_a_row_of_their_own() {
    let cells = vec![vec![Some(1234.5); 20]; 2];
    let map = || HeatMap::new("wide", Shading::Sequential, 1, cells.clone());
    let usual = Figure::new("f").columns(2).with(map()).with(map());
    assert_eq!(size_of(&usual.to_svg()).0, 776.0);
    let roomy = Figure::new("f")
        .columns(2)
        .with(map().roomy())
        .with(line_plot());
    let (width, height) = size_of(&roomy.to_svg());
    let alone = |panel: &Panel| size_of(&panel.to_svg());
    let (wide, narrow) = (alone(&roomy.panels()[0]), alone(&roomy.panels()[1]));
    assert_eq!(width, wide.0);
    assert!(wide.0 > 776.0 && height > wide.1 + narrow.1);
    // Every cell has its number, and so has the end of the legend.
    assert_eq!(roomy.to_svg().matches(">1234.5<").count(), 41);
    assert_eq!(usual.to_svg().matches(">1234.5<").count(), 2);
    let html = roomy.to_html();
    assert_eq!(html.matches("overflow-x:auto").count(), 1);
    assert!(html.contains(&format!("min-width:{}px", wide.0)));
}

fn line_plot() -> Plot {
    Plot::new("p", "x", "y").with(line("a"))
}

#[test]
fn names_of_columns_are_turned_where_they_do_not_fit() {
    let map = |name: &str| {
        let names = [name.to_owned(), "b".to_owned()];
        let map = HeatMap::new("m", Shading::Sequential, 0, vec![vec![Some(1.0); 2]; 2]);
        Panel::from(map.names(&names, &names)).to_svg()
    };
    assert_eq!(map("short").matches("rotate(-90)").count(), 1);
    let long = map("a rather long name");
    assert_eq!(long.matches("rotate(-90)").count(), 3);
    assert_eq!(long.matches("a rather l").count(), 2);
}

#[test]
fn references_stand_within_the_axes_and_in_the_legend() {
    let plot = || line_plot().x_shows([0.0, 40.0]).y_shows([0.0, 40.0]);
    let drawn = |plot: Plot| Panel::from(plot).to_svg().matches("4 4").count();
    assert_eq!(drawn(plot()), 0);
    assert_eq!(drawn(plot().diagonal("equal")), 2);
    assert_eq!(drawn(plot().upright("here", 3.0)), 2);
    // Beyond the axis only the legend tells of it.
    assert_eq!(drawn(plot().upright("there", 300.0)), 1);
    assert_eq!(drawn(plot().upright("nowhere", f64::NAN)), 0);
}

#[test]
fn larger_points_have_larger_markers() {
    let sized = |size| {
        let point = Point::new(0.0, 1.0).sized(size);
        let series = Series::new("s", Mark::Points, [point]);
        Panel::from(Plot::new("p", "x", "y").with(series)).to_svg()
    };
    assert!(sized(2.0).contains("r=\"7.2\"") && sized(1.0).contains("r=\"3.6\""));
    assert!(sized(1e9).contains("r=\"10.8\"") && !sized(f64::NAN).contains("NaN"));
}

#[test]
fn spreads_stay_within_the_bounds() {
    let plot = Plot::new("t", "x", "%")
        .y_bounds(0.0, 100.0)
        .with(line("a"));
    assert_eq!(plot.y_range(), Some((58.0, 99.7)));
    let wide = Series::new("w", Mark::Line, [Point::new(0.0, 99.0).spread(Some(30.0))]);
    assert_eq!(
        Plot::new("t", "x", "%")
            .y_bounds(0.0, 100.0)
            .with(wide)
            .y_range(),
        Some((69.0, 100.0))
    );
}

#[cfg(feature = "png")]
mod pixels {
    use super::*;
    use resvg::tiny_skia::{ColorU8, Pixmap};

    fn pixels(svg: &str, scale: f32) -> Pixmap {
        Pixmap::decode_png(&png(svg, scale).unwrap()).unwrap()
    }

    #[test]
    fn a_picture_has_its_size_and_is_not_blank() {
        let svg = sample().to_svg();
        let (width, height) = size_of(&svg);
        for scale in [1.0_f32, 2.0] {
            let picture = pixels(&svg, scale);
            let wanted = [width, height].map(|side| (side * f64::from(scale)) as u32);
            assert_eq!([picture.width(), picture.height()], wanted);
            let white = ColorU8::from_rgba(255, 255, 255, 255);
            // The light colours are drawn: the ground is white, and much else is not.
            assert_eq!(picture.pixel(0, 0).unwrap().demultiply(), white);
            let inked = picture
                .pixels()
                .iter()
                .filter(|p| p.demultiply() != white)
                .count();
            assert!(inked > 5_000, "{inked}");
        }
    }

    #[test]
    fn text_is_drawn_with_the_embedded_font() {
        let of = |title: &str| pixels(&Figure::new(title).to_svg(), 1.0);
        let inked = |picture: &Pixmap| picture.pixels().iter().filter(|p| p.red() < 128).count();
        let (none, some) = (of(""), of("πₖ = 0.2, ‖Δ‖₁ ± −1"));
        assert_eq!(inked(&none), 0);
        assert!(inked(&some) > 100, "{}", inked(&some));
    }

    #[test]
    fn what_cannot_be_drawn_is_an_error() {
        assert!(matches!(png("no svg", 1.0), Err(PngError::Svg(_))));
        let svg = sample().to_svg();
        for scale in [0.0, -1.0, f32::NAN, 1e9] {
            assert!(
                matches!(png(&svg, scale), Err(PngError::Size { .. })),
                "{scale}"
            );
        }
    }
}
