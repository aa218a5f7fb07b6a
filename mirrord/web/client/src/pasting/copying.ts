// What is copied, as Markdown for programs that take plain text. Files are written by the server, never by this: it escapes nothing.
import type { Fragment, Mark, Node, Slice } from '@tiptap/pm/model'

/** The Markdown of a slice; of a part of one block of code its text alone. */
export function markdownOf(slice: Slice): string {
  const { firstChild, childCount } = slice.content
  if (childCount === 1 && slice.openStart > 0 && firstChild!.type.spec.code) return firstChild!.textContent
  if (firstChild?.isInline) return inlineOf(slice.content)
  return blocksOf(slice.content)
}

const blocksOf = (content: Fragment, gap = '\n\n') => content.content.map(blockOf).join(gap)
const indented = (text: string, by: string) => text.replaceAll(/\n(?=[^\n])/g, `\n${by}`)
const quoted = (text: string) => text.split('\n').map((line) => `> ${line}`.trimEnd()).join('\n')

const BLOCKS: Record<string, (node: Node) => string> = {
  heading: (node) => `${'#'.repeat(Number(node.attrs['level']))} ${inlineOf(node.content)}`,
  codeBlock: (node) => `\`\`\`${String(node.attrs['language'] ?? '')}\n${node.textContent}\n\`\`\``,
  blockquote: (node) => quoted(blocksOf(node.content)),
  callout: (node) => quoted(`[!${attr(node, 'type')}]${attr(node, 'fold')} ${attr(node, 'title')}`.trim() + `\n${blocksOf(node.content)}`),
  bulletList: (node) => items(node, () => '- '),
  orderedList: (node) => items(node, (index) => `${Number(node.attrs['start'] ?? 1) + index}. `),
  taskList: (node) => items(node, (index) => (node.child(index).attrs['checked'] ? '- [x] ' : '- [ ] '), '  '),
  details: (node) => `<details>\n<summary>${inlineOf(node.child(0).content)}</summary>\n\n${blocksOf(node.child(1).content)}\n\n</details>`,
  horizontalRule: () => '---',
  mathBlock: (node) => `$$\n${attr(node, 'latex')}\n$$`,
  footnoteDef: (node) => `[^${attr(node, 'label')}]: ${indented(blocksOf(node.content), '    ')}`,
  rawBlock: (node) => attr(node, 'raw'),
  table: tableOf,
}

const attr = (node: Node, name: string) => String(node.attrs[name] ?? '')

function blockOf(node: Node): string {
  const write = BLOCKS[node.type.name]
  if (write) return write(node)
  return node.inlineContent ? inlineOf(node.content) : blocksOf(node.content)
}

function items(list: Node, marker: (index: number) => string, indent?: string): string {
  return list.children
    .map((item, index) => marker(index) + indented(blocksOf(item.content, '\n'), indent ?? ' '.repeat(marker(index).length)))
    .join('\n')
}

function tableOf(table: Node): string {
  const rows = table.children.map((row) => row.children.map((cell) => blocksOf(cell.content, '<br>').replaceAll('\n', '<br>').replaceAll('|', '\\|')))
  const rule = table.child(0).children.map(({ attrs }) => RULES[String(attrs['align'])] ?? '---')
  return [rows[0]!, rule, ...rows.slice(1)].map((row) => `| ${row.join(' | ')} |`).join('\n')
}

const RULES: Record<string, string> = { left: ':--', center: ':-:', right: '--:' }

const reference = (node: Node) => {
  const [heading, alias] = [attr(node, 'heading') && `#${attr(node, 'heading')}`, attr(node, 'alias') && `|${attr(node, 'alias')}`]
  return `[[${attr(node, 'target')}${heading}${alias}]]`
}
const INLINE: Record<string, (node: Node) => string> = {
  hardBreak: () => '\\\n',
  image: (node) => `![${attr(node, 'alt')}](${attr(node, 'src')})`,
  wikilink: reference,
  embed: (node) => `!${reference(node)}`,
  mathInline: (node) => `$${attr(node, 'latex')}$`,
  footnoteRef: (node) => `[^${attr(node, 'label')}]`,
  rawInline: (node) => attr(node, 'raw'),
  mention: (node) => `@${attr(node, 'label') || attr(node, 'id')}`,
}

/** What stands before and behind words with a mark; marks that Markdown lacks have nothing. */
const MARKS: Record<string, (mark: Mark) => [string, string]> = {
  link: ({ attrs }) => ['[', `](${String(attrs['href'])})`],
  bold: () => ['**', '**'],
  italic: () => ['*', '*'],
  strike: () => ['~~', '~~'],
  highlight: () => ['==', '=='],
  code: () => ['`', '`'],
  underline: () => ['<u>', '</u>'],
  superscript: () => ['<sup>', '</sup>'],
  subscript: () => ['<sub>', '</sub>'],
}
const ORDER = Object.keys(MARKS)

function inlineOf(content: Fragment): string {
  let [text, open] = ['', [] as Mark[]]
  const close = (count: number) => {
    for (const mark of open.slice(count).reverse()) {
      const [, words, blanks] = /^([^]*?)(\s*)$/.exec(text)!
      text = words! + MARKS[mark.type.name]!(mark)[1] + blanks!
    }
    open = open.slice(0, count)
  }
  for (const node of content.content) {
    const marks = node.marks.filter(({ type }) => type.name in MARKS).sort((one, other) => ORDER.indexOf(one.type.name) - ORDER.indexOf(other.type.name))
    let same = 0
    while (same < open.length && marks[same]?.eq(open[same]!)) same++
    close(same)
    const own = node.isText ? node.text! : (INLINE[node.type.name]?.(node) ?? '')
    const [, blanks, words] = /^(\s*)([^]*)$/.exec(own)!
    text += blanks! + marks.slice(same).map((mark) => MARKS[mark.type.name]!(mark)[0]).join('') + words!
    open = marks
  }
  close(0)
  return text
}
