// What draws formulas. Pages without them never load this: it is a fifth of the editor.
import temml from 'temml'

export { temml }
