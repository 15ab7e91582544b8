import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { runInNewContext, Script } from 'node:vm'
import { expect, it } from 'vitest'
import { LONG } from '../../../scripts/thoroughly.ts'
import { buildImage, loadImage } from '../src/process/image.ts'
import { bundle, imageCode } from '../src/process/image-code.ts'
import { temporaryFolder } from './fixture.ts'

const { hull, boot, script, author } = await loadImage()
const scripts = { hull, boot, script: script.text }
const texts = Object.entries({ ...scripts, author })

it.each(texts)('%s contains no types, no code of the host and no path of this machine', (_name, text) => {
  expect(text).not.toMatch(/^import type|: Promise</m)
  expect(text).not.toMatch(/\bz\.strictObject|class Broker\b|class Gate\b/)
  expect(text).not.toContain(process.cwd())
})

it.each(Object.entries(scripts))('%s is one strict classic script that needs only builtins', (_name, text) => {
  expect(() => new Script(text)).not.toThrow()
  expect(text).toMatch(/^(?:\(function \(builtin\) \{)?'use strict'\n/)
  const needed = [...text.matchAll(/\b(?:builtin|getBuiltinModule|require)\(['"]([^'"]+)['"]\)/g)].map(
    (match) => match[1]!,
  )
  expect(needed.length).toBeGreaterThan(0)
  expect(needed.filter((specifier) => !specifier.startsWith('node:'))).toEqual([])
})

it.each(texts)('%s contains only ASCII characters', (_name, text) => {
  expect(text).toMatch(/^[\0-\x7f]*$/)
})

it('keeps strings that are not ASCII', LONG, async () => {
  const { author: odd } = await buildImage((name, text) =>
    name === 'index.ts' ? `${text}\nexport const odd = 'gr\u00fc\u00dfe \u2026 \ud83d\ude00'` : text)
  expect(odd).toMatch(/^[\0-\x7f]*$/)
  expect(await import(`data:text/javascript,${encodeURIComponent(odd)}`)).toHaveProperty('odd', 'grüße … 😀')
})

it('takes what it needs of a builtin once, when it starts', async () => {
  const source = `import { format } from 'node:util'\nexport const late = () => format('%s', 1)`
  const { code } = await bundle(new URL('../src/wire/clock.ts', import.meta.url).pathname, 'iife', () => source)
  const util = { format: () => 'first' }
  const late = runInNewContext(`(function (builtin) {${code}\nreturn image.late})`) as
    (builtin: () => typeof util) => () => string
  const call = late(() => util)
  util.format = () => 'replaced'
  expect(call()).toBe('first')
})

it('cannot be built with an import that does not exist', async () => {
  const source = "import { absent } from './absent.ts'\nexport const prepared = absent"
  await expect(buildImage((name, text) => name === 'main.ts' ? source : text)).rejects.toThrow(/absent/)
})

it('contains the module that extensions may import', async () => {
  const given = await import(`data:text/javascript,${encodeURIComponent(author)}`) as object
  expect(new Set(Object.keys(given))).toEqual(new Set(Object.keys(await import('@bulkhead/contract/author'))))
})

it('can be built with modified modules', LONG, async () => {
  const one = 'another text'
  const other = await buildImage((name, text) => name === 'main.ts' ? `${text}\nexport const own = '${one}'` : text)
  expect(other.hull).toBe(hull)
  expect(other.script.text).toContain(one)
})

it('is the same from a cache, after it was damaged or a source changed, and beside a copy of them', LONG, async () => {
  const program = `
    const { enableCompileCache } = require('node:module')
    const { directory } = enableCompileCache(process.argv[1])
    const { hash } = require('node:crypto')
    const { readFileSync, writeFileSync } = require('node:fs')
    const module = ${JSON.stringify(import.meta.resolve('../src/process/image-code.ts'))}
    const cache = directory + '/image-' + hash('sha256', module).slice(0, 16) + '.json'
    writeFileSync(cache, '{')
    const keep = (json) => writeFileSync(cache, hash('sha256', json) + '\\n' + json)
    import(module).then(async ({ imageCode }) => {
      const built = await imageCode()
      const json = readFileSync(cache, 'utf8').split('\\n')[1]
      const kept = JSON.parse(json)
      const marked = JSON.stringify({ ...kept, code: { ...kept.code, hull: 'marked' } })
      keep(marked)
      const used = await imageCode()
      writeFileSync(cache, hash('sha256', json) + '\\n' + marked)
      const damaged = await imageCode()
      keep(JSON.stringify({ ...JSON.parse(marked), digests: kept.digests.map((one, at) => at === 3 ? '' : one) }))
      const again = await imageCode()
      const { builtCode } = await import(${JSON.stringify(import.meta.resolve('@bulkhead/kit/built-code'))})
      const copy = 'data:text/javascript,export const build = () => ({ code: "of a copy", sources: [] })'
      console.log(JSON.stringify([built, used, damaged, again, await builtCode('image', copy)]))
    })
  `
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', program, await temporaryFolder()])
  const code = await imageCode()
  expect(JSON.parse(stdout)).toEqual([code, { ...code, hull: 'marked' }, code, code, 'of a copy'])
})
