// Code that was copied: from editors, which colour each word, and from sites, which name the language in many ways.
import { made } from './made'
import { isMonospace, styleOf } from './styles'

const NAMED = /(?:^|\s)(?:language-|lang-|highlight-source-|highlight-text-|brush:\s*)([\w+#-]+)/

/** Turns every block of code into `pre` and `code` with its language and nothing else. */
export function convertCode(root: HTMLElement): void {
  for (const each of [...root.querySelectorAll('div')]) if (isOfEditor(each)) each.replaceWith(blockOf(each, linesOf(each)))
  for (const each of [...root.querySelectorAll('pre')]) each.replaceWith(blockOf(each, textOf(each)))
}

const isOfEditor = (each: Element) =>
  /^pre/.test(styleOf(each, 'white-space')) && isMonospace(each) && !each.parentElement?.closest('pre')

function blockOf(each: Element, text: string): Element {
  const [block, code, words] = [made(each, 'pre'), made(each, 'code'), made(each, 'span')]
  if (!text.includes('\n') && each.nodeName === 'DIV') {
    words.textContent = text
    return words
  }
  const language = languageOf(each)
  if (language) code.className = `language-${language}`
  code.textContent = text.replace(/\n$/, '')
  block.append(code)
  return block
}

function languageOf(each: Element): string | null {
  const own = each.querySelector('code')?.className ?? ''
  const around = [own, each.className, each.parentElement?.className ?? '']
  const named = around.map((name) => NAMED.exec(name)?.[1]).find(Boolean)
  if (named) return named
  return each.getAttribute('lang') ?? /sourceCode (\w+)/.exec(each.className)?.[1] ?? null
}

/** The lines of an editor: each is an element. */
function linesOf(each: Element): string {
  const lines = [...each.children].map((line) => (line.nodeName === 'BR' ? '' : textOf(line)))
  return (lines.length > 1 ? lines.join('\n') : textOf(each)).replaceAll('\u00a0', ' ')
}

function textOf(each: Element): string {
  for (const line of each.querySelectorAll('br')) line.replaceWith('\n')
  return each.textContent ?? ''
}
