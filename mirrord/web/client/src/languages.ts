// The languages that code is coloured in. Pages without code never load this: it is a fifth of the editor.
import { common, createLowlight } from 'lowlight'

export const lowlight = createLowlight(common)
