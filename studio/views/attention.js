export const view = {
  name: "attention",
  title: "Attention",
  about: "Who looks at whom, in every layer and head.",
  fits() { return true; },
  async draw(place) { place.append("To come."); },
};
