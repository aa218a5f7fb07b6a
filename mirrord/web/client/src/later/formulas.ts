// The renderer of formulas. Pages without formulas never load this module, which is a fifth of the editor.
import temml from 'temml'

export { temml }
