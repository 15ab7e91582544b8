import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { Script } from 'node:vm'
import { expect, it } from 'vitest'
import { buildImage, loadImage } from '../src/process/image.ts'
import { temporaryFolder } from './fixture.ts'

const { hull, boot, script, author } = await loadImage()
const scripts = { hull, boot, script: script.text }
const texts = Object.entries({ ...scripts, author })

it.each(texts)('%s contains no types, no code of the host and no path of this machine', (_name, text) => {
  expect(text).not.toMatch(/^import type|: Promise</m)
  expect(text).not.toMatch(/\bz\.strictObject|class Broker\b|class Gate\b/)
  expect(text).not.toContain(process.cwd())
})

it.each(Object.entries(scripts))('%s is one classic script that requires only builtins', (_name, text) => {
  expect(() => new Script(text)).not.toThrow()
  expect(text).toMatch(/^(?:\(function \(require\) \{)?'use strict'\n/)
  const needed = [...text.matchAll(/\brequire\('([^']+)'\)/g)].map((match) => match[1]!)
  expect(needed.filter((specifier) => !specifier.startsWith('node:'))).toEqual([])
})

it('contains the module that extensions may import', async () => {
  const given = await import(`data:text/javascript,${encodeURIComponent(author)}`) as object
  expect(new Set(Object.keys(given))).toEqual(new Set(Object.keys(await import('@bulkhead/contract/author'))))
})

it('can be built with modified modules', async () => {
  const one = 'another text'
  const other = await buildImage((name, text) => name === 'allow-list.ts' ? `${text}\n// ${one}` : text)
  expect(other.hull).toBe(hull)
  expect(other.script.text).toContain(one)
})

it('is the same from sources that were stripped before, and after a damaged cache', async () => {
  const program = `
    const { enableCompileCache } = require('node:module')
    const { directory } = enableCompileCache(process.argv[1])
    const cache = directory + '/stripped.json'
    const { readFileSync, writeFileSync } = require('node:fs')
    writeFileSync(cache, '{')
    import(${JSON.stringify(import.meta.resolve('../src/process/image.ts'))}).then(async ({ buildImage }) => {
      const built = await buildImage()
      const { key, texts } = JSON.parse(readFileSync(cache, 'utf8'))
      const again = await buildImage()
      writeFileSync(cache, JSON.stringify({ key: key + '0', texts: texts.map(() => '') }))
      console.log(JSON.stringify([built, again, await buildImage()].map(({ hull, author }) => ({ hull, author }))))
    })
  `
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', program, await temporaryFolder()])
  expect(JSON.parse(stdout)).toEqual([{ hull, author }, { hull, author }, { hull, author }])
})
