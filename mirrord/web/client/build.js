// Builds ../static/built/editor.js from src; with --test runs the tests in test/*.test.ts instead.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const HERE = fileURLToPath(new URL('.', import.meta.url))
const BUILT = join(HERE, '../static/built/editor.js')
const LIMIT = 350_000 // bytes, gzipped

const shared = { bundle: true, format: 'esm', loader: { '.css': 'text' }, logLevel: 'warning', absWorkingDir: HERE }

async function bundle() {
  const options = { minify: !process.env.PLAIN, target: 'es2022', legalComments: 'eof', entryPoints: ['src/editor.ts'], outfile: BUILT }
  await build({ ...shared, ...options })
  const size = gzipSync(readFileSync(BUILT)).length
  console.log(`editor.js: ${Math.ceil(size / 1000)} kB gzipped, of at most ${LIMIT / 1000}`)
  return size > LIMIT ? 1 : 0
}

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
