// What only some pages need, each a file beside the editor's: loaded when it is first asked for.

/** The languages that code is coloured in. */
export const languages = async () => (await import('./languages.js')).lowlight

/** What draws formulas. */
export const formulas = async () => (await import('./formulas.js')).temml
