// What sites make of Markdown, turned back: tasks, callouts, formulas, footnotes, toggles, and pictures that no browser can load.
import { made } from './made'

const CALLOUTS = ['note', 'tip', 'important', 'warning', 'caution']

/** Turns such elements into those that the schema reads. */
export function convertSites(root: HTMLElement): void {
  convertFormulas(root)
  convertFootnotes(root)
  for (const each of [...root.querySelectorAll('.markdown-alert')]) convertCallout(each)
  for (const each of [...root.querySelectorAll('details')]) convertToggle(each)
  for (const each of [...root.querySelectorAll('[aria-hidden="true"]')]) each.remove()
  for (const each of [...root.querySelectorAll('li')]) convertTask(each)
  for (const each of [...root.querySelectorAll('ul')]) convertTaskList(each)
  for (const each of [...root.querySelectorAll('input')]) each.remove()
  for (const each of [...root.querySelectorAll('img')]) if (!canLoad(each)) each.replaceWith(each.getAttribute('alt') ?? '')
}

/** A node of the schema, with an attribute as `schema.js` reads it. */
const block = (near: Node, node: string, name: string, value: string) =>
  made(near, 'div', { 'data-mirrord': node, [`data-${name}`]: JSON.stringify(value) })
const inline = (near: Node, node: string, name: string, value: string) =>
  made(near, 'span', { 'data-mirrord': node, [`data-${name}`]: JSON.stringify(value) })
const formula = (near: Node, latex: string, isBlock: boolean) =>
  isBlock ? block(near, 'mathBlock', 'latex', latex) : inline(near, 'mathInline', 'latex', latex)

function convertFormulas(root: HTMLElement): void {
  for (const source of [...root.querySelectorAll('annotation[encoding="application/x-tex"]')]) {
    const shown = source.closest('.katex-display, .katex, mjx-container, .MathJax') ?? source.closest('math')
    if (!shown || !root.contains(shown)) continue
    const isBlock = shown.matches('.katex-display, [display="true"], [display="block"]')
    shown.replaceWith(formula(root, source.textContent!.trim(), isBlock))
  }
  for (const each of [...root.querySelectorAll('math-renderer')]) {
    const [, sign, latex] = /^\s*(\$\$?)([^]+?)\1\s*$/.exec(each.textContent ?? '') ?? []
    if (latex) each.replaceWith(formula(root, latex.trim(), sign === '$$'))
  }
}

function convertFootnotes(root: HTMLElement): void {
  for (const link of [...root.querySelectorAll('a[data-footnote-ref]')]) {
    const label = link.textContent!.trim()
    const whole = link.parentElement?.nodeName === 'SUP' ? link.parentElement : link
    whole.replaceWith(inline(root, 'footnoteRef', 'label', label))
  }
  for (const section of [...root.querySelectorAll('section[data-footnotes]')]) {
    for (const link of section.querySelectorAll('a[data-footnote-backref]')) link.remove()
    const notes = [...section.querySelectorAll('ol > li')].map((item, index) => {
      const note = block(root, 'footnoteDef', 'label', String(index + 1))
      note.append(...item.childNodes)
      return note
    })
    section.replaceWith(...notes)
  }
}

function convertCallout(each: Element): void {
  const type = CALLOUTS.find((name) => each.classList.contains(`markdown-alert-${name}`)) ?? 'note'
  each.querySelector('.markdown-alert-title')?.remove()
  const callout = block(each, 'callout', 'type', type)
  callout.append(...each.childNodes)
  each.replaceWith(callout)
}

function convertToggle(each: Element): void {
  if (each.querySelector('[data-type="detailsContent"]')) return
  const summary = each.querySelector(':scope > summary') ?? made(each, 'summary')
  const content = made(each, 'div', { 'data-type': 'detailsContent' })
  content.append(...[...each.childNodes].filter((child) => child !== summary))
  each.replaceChildren(summary, content)
}

/** An item with a box is a task, whether the box is an input or a role. */
function convertTask(item: Element): void {
  const box = item.querySelector<HTMLInputElement>('input[type="checkbox"]')
  const isBox = box?.closest('li') === item
  if (!isBox && item.getAttribute('role') !== 'checkbox') return
  const isChecked = isBox ? box!.hasAttribute('checked') : item.getAttribute('aria-checked') === 'true'
  if (isBox) box!.remove()
  else item.querySelector(':scope > img')?.remove() // the box of Google Docs
  const content = made(item, 'div')
  content.append(...item.childNodes)
  trimStart(content)
  item.append(content)
  item.setAttribute('data-type', 'taskItem')
  item.setAttribute('data-checked', String(isChecked))
}

function convertTaskList(list: Element): void {
  const items = [...list.children].filter((child) => child.nodeName === 'LI')
  if (items.length && items.every((item) => item.getAttribute('data-type') === 'taskItem'))
    list.setAttribute('data-type', 'taskList')
}

function trimStart(content: Element): void {
  const first = content.ownerDocument.createTreeWalker(content, NodeFilter.SHOW_TEXT).nextNode()
  if (first) first.nodeValue = first.nodeValue!.trimStart()
}

/** Whether the address of a picture leads anywhere from a page; those of a mail or of a program do not. */
const canLoad = (picture: Element) => /^(https?:|\.{0,2}\/|[\w-]+(\/|\.\w+$))/i.test(picture.getAttribute('src') ?? '')
