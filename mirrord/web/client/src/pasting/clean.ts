// Cleans HTML that was copied elsewhere, before ProseMirror reads it: what it means stays, how it looked goes.
import { convertCode } from './code'
import { convertSites } from './sites'
import { convertStyles } from './styles'
import { simplifyTables } from './tables'
import { convertWordLists } from './word'

/** Never content: what surrounds it, what only screens show, and what is a button on its own page. */
const NOISE = [
  ...['meta', 'title', 'style', 'script', 'link', 'template', 'noscript', 'button', 'select', 'colgroup', 'svg'],
  ...['clipboard-copy', '.anchor', 'br.Apple-interchange-newline'],
].join(',')
const LOOKS = ['data-style', 'style', 'width', 'height', 'colwidth', 'data-colwidth', 'bgcolor', 'class']
const BLOCKS = 'p,h1,h2,h3,h4,h5,h6,ul,ol,li,table,pre,blockquote,div,hr,section,details'

/** The HTML without sheets and with `style` under the name `data-style`: a strict policy complains about each that is parsed. */
export function withoutStyle(html: string): string {
  return html.replace(/<style\b[^]*?<\/style\s*>/gi, '').replace(/<[a-z][^>]*>/gi, (tag) => tag.replace(/\sstyle(?=\s*=)/gi, ' data-style'))
}

/** Changes what was parsed from such HTML in its place. */
export function clean(root: HTMLElement): void {
  removeNoise(root)
  convertWordLists(root)
  convertSites(root)
  convertCode(root)
  convertStyles(root)
  simplifyTables(root)
  removeEmpty(root)
  collapseBlanks(root)
  for (const each of root.querySelectorAll('*')) for (const name of LOOKS) removeLook(each, name)
}

function removeLook(each: Element, name: string): void {
  if (name === 'class' && each.nodeName === 'CODE') return // its language
  each.removeAttribute(name)
}

function removeNoise(root: HTMLElement): void {
  for (const each of root.querySelectorAll(NOISE)) each.remove()
  for (const each of [...root.querySelectorAll('*')]) if (each.nodeName.includes(':')) each.remove() // o:p of Word
  for (const each of nodesOf(root, NodeFilter.SHOW_COMMENT)) each.parentNode!.removeChild(each)
  for (const each of root.querySelectorAll('.Apple-converted-space')) each.replaceWith(' ')
  unwrapAll(root, 'b[id^="docs-internal-guid"], google-sheets-html-origin, font, figure, center')
}

/** Removes paragraphs without words, and breaks between blocks: they only made room. */
function removeEmpty(root: HTMLElement): void {
  for (const each of root.querySelectorAll('p, h1, h2, h3, h4, h5, h6'))
    if (!each.textContent!.trim() && !each.querySelector('img, input, [data-mirrord]')) each.remove()
  for (const each of root.querySelectorAll('br'))
    if ([each.previousElementSibling, each.nextElementSibling].some((near) => near?.matches(BLOCKS))) each.remove()
}

/** Blanks of the source that no browser shows: paragraphs of this editor keep every blank. */
function collapseBlanks(root: HTMLElement): void {
  for (const text of nodesOf(root, NodeFilter.SHOW_TEXT) as Text[]) {
    if (text.parentElement!.closest('pre')) continue
    let words = text.data.replace(/[ \t\r\n\f]+/g, ' ')
    if (isEdge(text, text.previousSibling)) words = words.replace(/^ /, '')
    if (isEdge(text, text.nextSibling)) words = words.replace(/ $/, '')
    if (words) text.data = words
    else text.remove()
  }
}

/** Whether a text begins or ends a line at this side. */
function isEdge(text: Text, beside: Node | null): boolean {
  if (!beside) return text.parentElement!.matches(`${BLOCKS},td,th,summary,body`)
  return beside.nodeName === 'BR' || (beside.nodeType === Node.ELEMENT_NODE && (beside as Element).matches(BLOCKS))
}

function nodesOf(root: HTMLElement, kind: number): Node[] {
  const walker = root.ownerDocument.createTreeWalker(root, kind)
  const all: Node[] = []
  while (walker.nextNode()) all.push(walker.currentNode)
  return all
}

function unwrapAll(root: HTMLElement, selector: string): void {
  for (const each of root.querySelectorAll(selector)) each.replaceWith(...each.childNodes)
}
