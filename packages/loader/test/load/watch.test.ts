import { appendFileSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Layer, ProjectTrust } from '@bulkhead/contract'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createLoader } from '../../src/load/loader.ts'
import { HomeFixture, manifestOf } from '../home-fixture.ts'

/** Collects change events, and waits for the next one. */
class Watching implements Disposable {
  readonly seen: (readonly Layer[])[] = []
  readonly #waiting: (() => void)[] = []
  readonly #stop: () => void

  constructor(home: HomeFixture, trust: ProjectTrust = 'trusted', projectDigest = 'any') {
    this.#stop = createLoader(home.options()).watch({ workspace: home.workspace, trust, projectDigest }, (layers) => {
      this.seen.push(layers)
      this.#waiting.shift()?.()
    })
  }

  async after(change: () => void): Promise<readonly Layer[]> {
    const next = new Promise<void>((resolve) => void this.#waiting.push(resolve))
    change()
    await next
    return this.seen.at(-1)!
  }

  [Symbol.dispose](): void {
    this.#stop()
  }
}

describe('a change is reported with its layer:', () => {
  test.each<readonly [string, Layer, (home: HomeFixture, at: string) => void]>([
    ['a replaced extension', 'global', (home, at) => {
      renameSync(at, join(home.base, 'old'))
      home.extension(home.globalRoot, 'weather', manifestOf({ version: '2.0.0' }))
    }],
    ['a removed project layer', 'project', (home) => rmSync(home.projectRoot, { recursive: true })],
    ['a skill', 'global', (home) => void home.write(join(home.globalRoot, 'skills/a/SKILL.md'), '')],
    [
      'a skill of the project', 'project',
      (home) => void home.write(join(home.workspace, '.claude/skills/a/SKILL.md'), ''),
    ],
  ])('the report names the layer of %s', async (_, layer, change) => {
    using home = new HomeFixture()
    const at = home.extension(home.globalRoot, 'weather')
    home.write(join(home.projectRoot, 'tools', 'readme'), '')
    using watching = new Watching(home)
    expect(await watching.after(() => change(home, at))).toEqual([layer])
  })

  test('the report names the layer of a configured package', async () => {
    using home = new HomeFixture()
    home.write(join(home.globalRoot, 'config.json'), { packages: ['weather'] })
    const main = home.write(join(home.globalRoot, 'node_modules/weather/index.js'), '')
    using watching = new Watching(home)
    expect(await watching.after(() => appendFileSync(main, 'x'))).toEqual(['global'])
  })

  test('the report names the layer of a configured document', async () => {
    using home = new HomeFixture()
    home.write(join(home.globalRoot, 'config.json'), {
      openapi: { shop: { document: 'apis/shop.json' }, none: { document: 'nowhere/none.json' } },
    })
    home.write(join(home.projectRoot, 'config.json'), { openapi: { own: { document: 'own.json' } } })
    const users = home.write(join(home.globalRoot, 'apis/shop.json'), '{}')
    const projects = home.write(join(home.workspace, 'own.json'), '{}')
    using watching = new Watching(home)
    expect(await watching.after(() => appendFileSync(users, ' '))).toEqual(['global'])
    expect(await watching.after(() => appendFileSync(projects, ' '))).toEqual(['project'])
    expect(await watching.after(() => rmSync(projects))).toEqual(['project'])
  })

  test('a file that a configured document refers to', async () => {
    using home = new HomeFixture()
    const refer = (path: string) => JSON.stringify({ paths: { '/a': { $ref: path } } })
    home.write(join(home.globalRoot, 'config.json'), { openapi: { shop: { document: 'apis/shop.json' } } })
    home.write(join(home.projectRoot, 'config.json'), { openapi: { own: { document: 'own.json' } } })
    home.write(join(home.globalRoot, 'apis/shop.json'), refer('paths/a.json'))
    const path = home.write(join(home.globalRoot, 'apis/paths/a.json'), refer('../schemas/b.json#/b'))
    const schema = home.write(join(home.globalRoot, 'apis/schemas/b.json'), '{}')
    home.write(join(home.workspace, 'own.json'), refer('parts/missing.json'))
    using watching = new Watching(home)
    expect(await watching.after(() => appendFileSync(path, ' '))).toEqual(['global'])
    expect(await watching.after(() => appendFileSync(schema, ' '))).toEqual(['global'])
    expect(await watching.after(() => void home.write(join(home.workspace, 'parts/missing.json'), '{}')))
      .toEqual(['project'])
    // What it refers to from now on.
    const late = home.write(join(home.globalRoot, 'apis/late.json'), '{}')
    expect(await watching.after(() => writeFileSync(schema, refer('../late.json')))).toEqual(['global'])
    expect(await watching.after(() => appendFileSync(late, ' '))).toEqual(['global'])
  })

  test('a new layer, and its first content', async () => {
    using home = new HomeFixture()
    using watching = new Watching(home)
    expect(await watching.after(() => mkdirSync(home.projectRoot))).toEqual(['project'])
    expect(await watching.after(() => void home.extension(home.projectRoot, 'weather'))).toEqual(['project'])
    expect(await watching.after(() => writeFileSync(join(home.projectRoot, 'tools/weather/index.js'), 'x')))
      .toEqual(['project'])
  })
})

test('a change is reported after two seconds although others follow', async () => {
  using home = new HomeFixture()
  const at = home.extension(home.globalRoot, 'weather')
  using watching = new Watching(home)
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  for (let ms = 0; ms < 2_200; ms += 80) {
    appendFileSync(join(at, 'index.js'), ' ')
    await pause(5)
    vi.advanceTimersByTime(80)
  }
  expect(watching.seen.length).toBeGreaterThan(0)
})

describe('watches a replaced folder:', () => {
  /** Removes a folder and creates it again, like builds, installers and checkouts do. */
  const replace = (home: HomeFixture, folder: string, file: string): void => {
    rmSync(folder, { recursive: true })
    home.write(file, '2')
  }
  const folders: readonly (readonly [string, (home: HomeFixture) => string])[] = [
    ['a folder of code', ({ globalRoot }) => join(globalRoot, 'tools/weather/dist')],
    ['an extension', ({ globalRoot }) => join(globalRoot, 'tools/weather')],
    ['the folder of tools', ({ globalRoot }) => join(globalRoot, 'tools')],
    ['the whole layer', ({ globalRoot }) => globalRoot],
  ]
  test.each(folders)('watches the new folder in place of %s', async (_, folderOf) => {
    using home = new HomeFixture()
    const folder = folderOf(home)
    const file = home.write(join(home.globalRoot, 'tools/weather/dist/a.js'), '1')
    using watching = new Watching(home)
    await watching.after(() => replace(home, folder, file))
    expect(await watching.after(() => appendFileSync(file, '3'))).toEqual(['global'])
    expect(await watching.after(() => rmSync(folder, { recursive: true }))).toEqual(['global'])
    expect(await watching.after(() => void home.write(file, '4'))).toEqual(['global'])
    expect(await watching.after(() => appendFileSync(file, '5'))).toEqual(['global'])
  })

  test('a folder that is moved into place', async () => {
    using home = new HomeFixture()
    const at = home.extension(home.globalRoot, 'weather')
    using watching = new Watching(home)
    await watching.after(() => {
      renameSync(at, join(home.base, 'old'))
      home.extension(home.globalRoot, 'weather')
    })
    expect(await watching.after(() => writeFileSync(join(at, 'index.js'), 'x'))).toEqual(['global'])
  })

  test('watches the new workspace', async () => {
    using home = new HomeFixture()
    home.extension(home.projectRoot, 'weather')
    using watching = new Watching(home)
    await watching.after(() => renameSync(home.workspace, join(home.base, 'old')))
    await watching.after(() => void home.extension(home.projectRoot, 'weather'))
    expect(await watching.after(() => rmSync(home.projectRoot, { recursive: true }))).toEqual(['project'])
  })

  test('a package that is configured, installed, linked and removed', async () => {
    using home = new HomeFixture()
    home.write(join(home.globalRoot, 'config.json'), { packages: ['@acme/weather'] })
    const modules = join(home.globalRoot, 'node_modules')
    const link = join(modules, '@acme/weather')
    for (const version of ['1', '2']) home.write(join(modules, '.store', version, 'index.js'), version)
    using watching = new Watching(home)
    const linkTo = (version: string) => () => {
      rmSync(link, { force: true })
      mkdirSync(join(modules, '@acme'), { recursive: true })
      symlinkSync(`../.store/${version}`, link)
    }
    expect(await watching.after(linkTo('1'))).toEqual(['global'])
    expect(await watching.after(linkTo('2'))).toEqual(['global'])
    expect(await watching.after(() => rmSync(link))).toEqual(['global'])
  })
})

test('reports a global layer that is created later', async () => {
  using home = new HomeFixture()
  rmSync(join(home.base, 'home'), { recursive: true })
  using watching = new Watching(home)
  expect(await watching.after(() => void home.extension(home.globalRoot, 'weather'))).toEqual(['global'])
  expect(await watching.after(() => writeFileSync(join(home.globalRoot, 'tools/weather/index.js'), 'x')))
    .toEqual(['global'])
})

test('reports a burst as one event', async () => {
  using home = new HomeFixture()
  using watching = new Watching(home)
  await watching.after(() => {
    for (let index = 0; index < 50; index++) {
      home.extension(home.globalRoot, `ext-${index}`, manifestOf({ id: `ext-${index}` }))
    }
  })
  expect(await watching.after(() => home.write(join(home.globalRoot, 'config.json'), {}))).toEqual(['global'])
  expect(watching.seen).toHaveLength(2)
})

test('ignores files that a load does not read', async () => {
  using home = new HomeFixture()
  home.extension(home.globalRoot, 'weather')
  using watching = new Watching(home)
  home.write(join(home.globalRoot, 'trust.jsonl'), '')
  home.write(join(home.globalRoot, 'cache/x.json'), '')
  home.write(join(home.workspace, 'src/main.ts'), '')
  expect(await watching.after(() => home.write(join(home.globalRoot, 'config.json'), {}))).toEqual(['global'])
  expect(watching.seen).toHaveLength(1)
})

test('reports only whether a declined project exists', async () => {
  using home = new HomeFixture()
  home.extension(home.projectRoot, 'weather')
  using watching = new Watching(home, 'declined')
  home.extension(home.projectRoot, 'storms')
  expect(await watching.after(() => home.write(join(home.globalRoot, 'config.json'), {}))).toEqual(['global'])
  expect(await watching.after(() => rmSync(home.projectRoot, { recursive: true }))).toEqual(['project'])
  expect(watching.seen).toHaveLength(2)
})

test('reports only the creation of a layer in an empty project', async () => {
  using home = new HomeFixture()
  const projectDigest = await createLoader(home.options()).trust.measure(home.workspace)
  using watching = new Watching(home, 'once', projectDigest)
  expect(await watching.after(() => void home.extension(home.projectRoot, 'weather'))).toEqual(['project'])
  home.extension(home.projectRoot, 'storms')
  expect(await watching.after(() => home.write(join(home.globalRoot, 'config.json'), {}))).toEqual(['global'])
  expect(watching.seen).toHaveLength(2)
})
