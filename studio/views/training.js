export const view = {
  name: "training",
  title: "Training",
  about: "How the model came to be.",
  fits() { return true; },
  async draw(place) { place.append("To come."); },
};
