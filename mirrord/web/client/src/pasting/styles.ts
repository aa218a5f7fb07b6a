// The meaning of styles that were copied: weight, slant, lines through and below, height, and letters of code.
import { made } from './made'

const MONOSPACE =
  /^\W*(courier|consolas|menlo|monaco|monospace|ui-monospace|roboto mono|source code|sf mono|jetbrains|fira|dejavu sans mono|lucida console|cascadia|inconsolata)/i

/** The value of a property in the style of an element; '' if it has none. */
export function styleOf(each: Element, name: string): string {
  const style = each.getAttribute('data-style') ?? each.getAttribute('style') ?? ''
  const found = new RegExp(`(?:^|;)\\s*${name}\\s*:\\s*([^;]+)`, 'i').exec(style)
  return found ? found[1]!.trim() : ''
}

/** Whether the letters of an element are those of code. */
export const isMonospace = (each: Element) => MONOSPACE.test(styleOf(each, 'font-family') || styleOf(each, 'font'))

/** Turns styles of words into elements that mean the same, and removes elements that a style makes meaningless. */
export function convertStyles(root: HTMLElement): void {
  for (const each of [...root.querySelectorAll('b, strong')])
    if (/^(normal|lighter|[1-5]\d\d)$/.test(styleOf(each, 'font-weight'))) each.replaceWith(...each.childNodes)
  for (const each of [...root.querySelectorAll('i, em')])
    if (styleOf(each, 'font-style') === 'normal') each.replaceWith(...each.childNodes)
  for (const each of [...root.querySelectorAll('span, td, th, a')]) for (const name of marksOf(each)) wrap(each, name)
}

function marksOf(each: Element): string[] {
  if (each.closest('pre, code') || !each.textContent!.trim()) return []
  const lines = styleOf(each, 'text-decoration') || styleOf(each, 'text-decoration-line')
  const isLink = each.closest('a') !== null // which are underlined everywhere
  const isHeading = each.closest('h1, h2, h3, h4, h5, h6, th') !== null // which are bold everywhere
  const height = styleOf(each, 'vertical-align')
  const isSpan = each.nodeName === 'SPAN'
  const all: [string, boolean][] = [
    ['strong', !isHeading && /^(bold|bolder|[6-9]\d\d)$/.test(styleOf(each, 'font-weight'))],
    ['em', styleOf(each, 'font-style') === 'italic'],
    ['s', lines.includes('line-through')],
    ['u', lines.includes('underline') && !isLink],
    ['sup', isSpan && height === 'super'],
    ['sub', isSpan && height === 'sub'],
    ['code', isSpan && isMonospace(each) && !each.querySelector('p, div, ul, ol, table')],
  ]
  return all.filter(([, isOn]) => isOn).map(([name]) => name)
}

function wrap(each: Element, name: string): void {
  const mark = made(each, name)
  mark.append(...each.childNodes)
  each.append(mark)
}
