export const view = {
  name: "lecture",
  title: "Lecture",
  about: "A tiny model, step by step.",
  fits(model) { return Boolean(model.lecture); },
  async draw(place) { place.append("To come."); },
};
