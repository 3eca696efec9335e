export const view = {
  name: "beam",
  title: "Beam",
  about: "How the answer was found among others.",
  fits() { return true; },
  async draw(place) { place.append("To come."); },
};
