import { beforeAll, describe, expect, it } from 'vitest'
import { LONG } from '../../../../../scripts/thoroughly.ts'
import { toolSession } from '../../../test/tool-session.ts'

const { call, refusal, put } = toolSession('repo_overview')
beforeAll(async () => {
  await put('README.md', '\n# The thing\n\nText\n')
  await put(
    'package.json',
    JSON.stringify({
      name: 'thing', main: './src/index.ts', bin: { thing: './bin.js' },
      exports: { '.': './src/index.ts', './x': { import: './x.js' } },
      scripts: { test: 'vitest', build: 'tsc', bad: 1 }, description: 'not shown',
    }),
  )
  await put('src/index.ts', 'export {}\n')
  await put('src/deep/er/x.ts', 'let x\n')
  await put('test/a.test.ts', '')
  await put('src/deep/b_test.go', 'package b\n')
  await put(
    'tools/pyproject.toml',
    '[project]\nname = "tool"\n[project.scripts]\nrun-it = "tool:main"\n"b" = "x:y"\n[other]\nc = 1\n',
  )
  await put('Makefile', 'VAR := 1\nall: x\n\t@echo\nclean:\n')
  await put('rust/Cargo.toml', '[package]\nname = "rusty"\n')
  await put('go.mod', 'module example.com/m\n')
  await put('Dockerfile', 'FROM x\nENTRYPOINT ["/run"]\n')
  await put('.gitignore', 'node_modules\n')
  await put('node_modules/x/package.json', '{}')
})

describe('repo_overview', () => {
  it('describes folders, languages, entry points and tests', async () => {
    expect(await call({})).toEqual({
      path: '.', files: 12,
      tree: [
        { path: 'rust', files: 1 }, { path: 'src', files: 3 }, { path: 'src/deep', files: 2 },
        { path: 'src/deep/er', files: 1 }, { path: 'test', files: 1 }, { path: 'tools', files: 1 },
      ],
      root_files: ['.gitignore', 'Dockerfile', 'Makefile', 'README.md', 'go.mod', 'package.json'],
      languages: [
        { language: 'TypeScript', files: 3, bytes: 16 }, { language: 'TOML', files: 2, bytes: expect.any(Number) },
        { language: 'Go', files: 1, bytes: 10 }, { language: 'JSON', files: 1, bytes: expect.any(Number) },
        { language: 'Markdown', files: 1, bytes: 19 },
      ],
      entry_points: [
        { path: 'Dockerfile', starts: ['ENTRYPOINT ["/run"]'] }, { path: 'Makefile', targets: ['all', 'clean'] },
        { path: 'README.md', title: 'The thing' },
        { path: 'go.mod', name: 'example.com/m' },
        {
          path: 'package.json', name: 'thing', main: './src/index.ts', bin: { thing: './bin.js' },
          exports: ['.', './x'],
          scripts: { test: 'vitest', build: 'tsc' },
        },
        { path: 'rust/Cargo.toml', name: 'rusty' },
        { path: 'tools/pyproject.toml', name: 'tool', scripts: ['run-it', 'b'] },
      ],
      tests: [
        { path: 'src/deep', files: 1 }, { path: 'test', files: 1 },
      ],
    })
  })

  it('describes a folder of it, to a depth', async () => {
    expect(await call({ path: 'src', depth: 1 })).toMatchObject({
      path: 'src', files: 3, tree: [{ path: 'deep', files: 2 }], root_files: ['index.ts'],
    })
  })

  it('is bounded, whatever the project files contain', async () => {
    await put(
      'hostile/package.json',
      JSON.stringify({
        name: 'n'.repeat(5_000),
        scripts: Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`s${index}`, 'x'.repeat(90)])),
      }),
    )
    await put('hostile/a/package.json', '['.repeat(60_000))
    await put('hostile/b/package.json', ' '.repeat(70_000))
    await put('hostile/README', `#${'\n'.repeat(30_000)}${' '.repeat(30_000)}`)
    await put('hostile/Makefile', `${'a'.repeat(60_000)}\n`)
    const { entry_points } = await call({ path: 'hostile' })
    expect(entry_points).toMatchObject([
      { path: 'Makefile' }, { path: 'README' }, { path: 'package.json', name: expect.stringMatching(/^n{160}…$/) },
      { path: 'a/package.json' }, { path: 'b/package.json' },
    ])
    expect(Object.keys((entry_points as unknown as { scripts: object }[])[2]!.scripts)).toHaveLength(30)
  })

  it('names a bounded number of files and folders', LONG, async () => {
    const json = JSON.stringify({ name: 'x' })
    for (let index = 0; index < 41; index++) {
      await put(`many/p${index}/package.json`, json)
      await put(`many/p${index}/test/a.test.ts`)
    }
    for (let index = 0; index < 201; index++) await put(`many/r${index}.txt`)
    for (let index = 0; index < 160; index++) await put(`many/d${index}/a.txt`)
    await put('many/a/b/c/package.json', json)
    await put('large/package.json', `{"name":"x"}${' '.repeat(70_000)}`)
    const found = await call({ path: 'many' })
    expect(found).toMatchObject({
      tree: { length: 200 }, root_files: { length: 200 }, entry_points: { length: 40 }, tests: { length: 30 },
    })
    expect((await call({ path: 'many/a' }))['entry_points']).toEqual([{ path: 'b/c/package.json', name: 'x' }])
    expect((await call({ path: 'large' }))['entry_points']).toEqual([{ path: 'package.json' }])
    await put('deep/a/b/c/package.json', json)
    expect((await call({ path: 'deep' }))['entry_points']).toEqual([])
  })

  it('refuses what is not a folder of the workspace', async () => {
    expect((await refusal({ path: '/' })).code).toBe('CapabilityDenied')
    expect((await refusal({ path: 'none' })).code).toBe('NotFound')
  })
})
