// Modules that only some pages need: each is a file of its own, loaded when it is first needed.

/** The languages of highlighted code. */
export const languages = async () => (await import('./languages.js')).lowlight

/** The renderer of formulas. */
export const formulas = async () => (await import('./formulas.js')).draw
