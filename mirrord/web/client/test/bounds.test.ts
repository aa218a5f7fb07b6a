// A number in a document does not stop the browser: tables that are too large are shown as JSON and kept.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getSchema } from '@tiptap/core'
import { extensions, held, hold, release } from '../src/document/schema.js'

type Attributes = Record<string, unknown>

const schema = getSchema(extensions)
const cell = (attrs: Attributes = {}, type = 'tableCell') => ({ type, attrs, content: [{ type: 'paragraph' }] })
const table = (...rows: object[][]) => ({ type: 'table', content: rows.map((content) => ({ type: 'tableRow', content })) })
const doc = (...content: object[]) => ({ type: 'doc', content })

/** The type of the block that the editor shows for *block*. */
function shown(block: object): string {
  const content = doc(block)
  const type = hold(content, schema).content[0].type
  assert.equal(held(content, schema).firstChild!.type.name, type)
  if (type === 'unknownBlock') assert.deepEqual(release(hold(content, schema)), content)
  return type
}

for (const name of ['colspan', 'rowspan'])
  for (const type of ['tableCell', 'tableHeader'])
    test(`a ${type} has a ${name} from 1 to 1000`, () => {
      for (const value of [null, 1, 2, 1000]) assert.equal(shown(table([cell({ [name]: value }, type)])), 'table')
      for (const value of [0, -1, 1001, 99_999_999, 1e300, 1.5, '99999999', true, [2]])
        assert.equal(shown(table([cell({ [name]: value }, type)])), 'unknownBlock', String(value))
    })

test('a table in a quote is bounded too', () => {
  const quote = (value: number) => ({ type: 'blockquote', content: [table([cell({ colspan: value })])] })
  assert.equal(shown(quote(1000)), 'blockquote')
  assert.equal(shown(quote(99_999_999)), 'unknownBlock')
})

test('columns have at most 10,000 pixels', () => {
  for (const colwidth of [null, [80], [null, 0, 10_000]]) assert.equal(shown(table([cell({ colwidth })])), 'table')
  for (const colwidth of [[10_001], [-1], ['x'], Array(1001).fill(1), 5])
    assert.equal(shown(table([cell({ colwidth })])), 'unknownBlock', String(colwidth))
})

test('many cells that span many places are too large together', () => {
  const wide = cell({ colspan: 1000 })
  assert.equal(shown(table(...Array(100).fill([wide]))), 'table')
  assert.equal(shown(table(...Array(101).fill([wide]))), 'unknownBlock')
  assert.equal(shown(table(Array(1000).fill(wide))), 'unknownBlock')
  const tall = cell({ colspan: 100, rowspan: 1000 })
  assert.equal(shown(table(...Array(30).fill([tall]))), 'table')
  assert.equal(shown(table(...Array(40).fill([tall]))), 'unknownBlock')
  assert.equal(shown(table(...Array(400).fill(Array(300).fill(cell())))), 'table')
})

test('lists, headings and pictures of any number are shown', () => {
  const number = 1e15
  assert.equal(shown({ type: 'orderedList', attrs: { start: number }, content: [{ type: 'listItem', content: [{ type: 'paragraph' }] }] }), 'orderedList')
  assert.equal(shown({ type: 'heading', attrs: { level: number } }), 'heading')
  assert.equal(shown({ type: 'paragraph', content: [{ type: 'image', attrs: { src: 'a.png', width: number } }] }), 'paragraph')
})

test('spans in HTML that is pasted are bounded', () => {
  const parsed = (type: string, values: Record<string, string>) => {
    const element = { getAttribute: (name: string) => values[name] ?? null, closest: () => null, style: {}, childNodes: [], children: [] }
    const rules = schema.nodes[type]!.spec.parseDOM!
    return rules.at(-1)!.getAttrs!(element as never) as Attributes
  }
  for (const type of ['tableCell', 'tableHeader']) {
    const values = parsed(type, { colspan: '99999999', rowspan: '-4', colwidth: '99999999' })
    assert.deepEqual([values['colspan'], values['rowspan'], values['colwidth'] ?? null], [1000, 1, null])
    const usual = parsed(type, { colspan: '2', colwidth: '80,90' })
    assert.deepEqual([usual['colspan'], usual['rowspan'], usual['colwidth']], [2, 1, [80, 90]])
  }
})
