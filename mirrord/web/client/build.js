// Builds ../static/built/ from src: editor.js and the modules that it loads when needed; with --test runs test/*.test.ts instead.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const HERE = fileURLToPath(new URL('.', import.meta.url))
const BUILT = join(HERE, '../static/built')
const LATER = ['languages', 'formulas'] // what src/later/later.ts loads
const LIMIT = 350_000 // bytes of all together, gzipped

const shared = { bundle: true, format: 'esm', loader: { '.css': 'text' }, logLevel: 'warning', absWorkingDir: HERE }

// To detect V8, ProseMirror reads a stack when it is loaded, and for the line numbers V8 parses the whole editor once more.
// Its measures for V8 do no harm in other browsers.
const STACK = 'let { stack } = new Error("/");'
const stackless = {
  name: 'stackless',
  setup: ({ onLoad }) =>
    onLoad({ filter: /prosemirror-model.dist.index\.js$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8')
      if (!text.includes(STACK)) throw new Error(`${path} looks at no stack any more: build.js need not change that`)
      return { contents: text.replace(STACK, String.raw`let stack = '\n at '`), loader: 'js' }
    }),
}

async function bundle() {
  const looks = { minify: !process.env.PLAIN, target: 'es2022', legalComments: 'eof' }
  const options = { ...looks, outdir: BUILT, plugins: [stackless] }
  const files = ['editor', ...LATER]
  await Promise.all(files.map((name) => build({ ...shared, ...options, ...entry(name) })))
  const sizes = files.map((name) => gzipSync(readFileSync(join(BUILT, `${name}.js`))).length)
  const size = sizes.reduce((sum, one) => sum + one)
  const told = files.map((name, at) => `${name}.js ${Math.ceil(sizes[at] / 1000)}`).join(' + ')
  console.log(`${told} = ${Math.ceil(size / 1000)} kB gzipped, of at most ${LIMIT / 1000}`)
  return size > LIMIT ? 1 : 0
}

const entry = (name) => ({
  entryPoints: [LATER.includes(name) ? `src/later/${name}.ts` : `src/${name}.ts`],
  external: LATER.map((other) => `./${other}.js`),
})

async function test() {
  const outdir = mkdtempSync(join(tmpdir(), 'mirrord-editor-'))
  const entryPoints = readdirSync(join(HERE, 'test')).filter((name) => name.endsWith('.test.ts'))
  try {
    const named = entryPoints.map((name) => join('test', name))
    await build({ ...shared, platform: 'node', entryPoints: named, outdir, outExtension: { '.js': '.mjs' } })
    const files = entryPoints.map((name) => join(outdir, name.replace(/\.ts$/, '.mjs')))
    return spawnSync(process.execPath, ['--test', ...files], { stdio: 'inherit' }).status ?? 1
  } finally {
    rmSync(outdir, { recursive: true })
  }
}

process.exitCode = await (process.argv.includes('--test') ? test() : bundle())
