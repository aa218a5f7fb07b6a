// The languages of highlighted code. Pages without code never load this module, which is a fifth of the editor.
import { common, createLowlight } from 'lowlight'

export const lowlight = createLowlight(common)
