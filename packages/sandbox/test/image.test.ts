import { expect, it } from 'vitest'
import { loadImage } from '../src/main/image.ts'

it('is whole: every import of its modules is a module of it or a builtin', async () => {
  const { modules, entry, authorUrl } = await loadImage()
  const urls = new Set(modules.map((module) => module.url))
  expect(urls.has(entry) && urls.has(authorUrl)).toBe(true)
  for (const { source, imports, url } of modules) {
    const known = new Map(imports)
    for (const [, specifier] of source.matchAll(/^(?:import|export)\s(?:[^'"]*\sfrom\s)?['"]([^'"]+)['"]/gm)) {
      expect(specifier!.startsWith('node:') || urls.has(known.get(specifier!) ?? ''), `${url} imports ${specifier}`).toBe(true)
    }
  }
})

it('holds no types, no code of the host, no validator and no path of this machine', async () => {
  const { hull, boot, modules } = await loadImage()
  const texts = [hull, boot, ...modules.map((module) => module.source)]
  for (const text of texts) expect(text).not.toMatch(/^import type|: Promise</m)
  expect(modules.filter(({ url }) => /zod|broker\.ts|gate|session/.test(url)).map(({ url }) => url)).toEqual([])
  expect(JSON.stringify(modules.map(({ url, imports }) => [url, imports]))).not.toContain(process.cwd())
})

it('needs nothing but builtins for its first lines', async () => {
  const { hull, boot } = await loadImage()
  for (const text of [hull, boot]) {
    const specifiers = [...text.matchAll(/^import\s[^'"]*['"]([^'"]+)['"]/gm)].map((match) => match[1]!)
    expect(specifiers.filter((specifier) => !specifier.startsWith('node:'))).toEqual([])
  }
})
