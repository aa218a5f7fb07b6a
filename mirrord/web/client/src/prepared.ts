// An editor without a page. It is made while the browser rests, so that the next page has only to be put into it.
import { Editor as TipTap } from '@tiptap/core'
import { markdownOf } from './pasting/copying'
import { element, whenIdle } from './dom'
import { extensionsFor } from './extensions'
import { grip } from './moving/grip'
import { inspector } from './menus/inspector'
import { selectionBar } from './menus/selectionbar'
import type { Options } from './options'
import { columnHandle } from './tables/resizing'
import { toolbar } from './menus/toolbar'
import { choosing } from './pasting/uploads'
import { looks } from './views/looks'
import { EDITOR } from './words'

const RESTING = 500 // ms after a page was shown, before the editor of the next one is made

/** options: what its parts ask; nothing but `readonly` until it has a page. parts: what is shown of it. */
export interface Prepared {
  tiptap: TipTap
  options: Options
  surface: HTMLElement
  parts: HTMLElement[]
}

let next: Prepared | null = null

/** An editor for one page. */
export function takePrepared(isReadonly: boolean): Prepared {
  const taken = next?.options.readonly === isReadonly ? next : prepared(isReadonly)
  next = null
  return taken
}

/** Makes the editor of the next page, once the browser rests. */
export function prepareNext(isReadonly: boolean): void {
  setTimeout(() => whenIdle(() => (next ??= prepared(isReadonly))), RESTING)
}

function prepared(isReadonly: boolean): Prepared {
  const options = { readonly: isReadonly } as Options
  const surface = element('div', { class: 'surface' })
  const notice = element('p', { class: 'notice', role: 'status' })
  const tell = (sentence: string) => notice.replaceChildren(sentence)
  const margin = { top: 110, bottom: 110, left: 5, right: 5 } // px of the window where the toolbar and the fields may be
  const tiptap = new TipTap({
    element: null,
    extensions: extensionsFor(options, looks(options), tell),
    content: { type: 'doc', content: [{ type: 'paragraph' }] }, // a string would be parsed as HTML
    enablePasteRules: ['link'], // all other Markdown is read by the server's grammar
    editable: !isReadonly,
    injectCSS: false, // a strict policy refuses a style element
    editorProps: {
      attributes: { 'aria-label': EDITOR.text, 'aria-description': EDITOR.wayOut, class: 'prose' },
      ...{ scrollMargin: margin, scrollThreshold: margin, clipboardTextSerializer: markdownOf },
    },
  })
  tiptap.mount(surface)
  tiptap.view.dom.style.setProperty('--hint', JSON.stringify(EDITOR.hint))
  if (isReadonly) return { tiptap, options, surface, parts: [surface] }
  surface.append(...grip(tiptap), columnHandle(tiptap))
  const bar = toolbar(tiptap, [choosing(options, tell)])
  new ResizeObserver(() => (margin.top = coveredBy(bar) + 5)).observe(bar)
  return { tiptap, options, surface, parts: [bar, notice, surface, inspector(tiptap, options), selectionBar(tiptap)] }
}

/** The height from the top of the window to the end of the toolbar, when the page is scrolled. */
const coveredBy = (bar: HTMLElement) => (Number.parseFloat(getComputedStyle(bar).top) || 0) + bar.offsetHeight
