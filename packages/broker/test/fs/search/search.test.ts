import { linkSync } from 'node:fs'
import { chmod, mkdir, readFile, symlink, truncate, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import ignore from 'ignore'
import { describe, expect, it } from 'vitest'
import { LONG, thoroughly } from '../../../../../scripts/thoroughly.ts'
import { compileFilePattern } from '../../../src/fs/search/file-pattern.ts'
import { temporaryFolder } from '../../fixture.ts'
import { CANARY, codeOf, setUp, openFs, put } from '../setup.ts'

async function tree(...files: Parameters<typeof put> extends [string, ...infer Files] ? Files : never) {
  const workspace = await temporaryFolder()
  await put(workspace, ...files)
  return { workspace, ...openFs(workspace, { read: ['**'] }) }
}

describe('finding files', () => {
  it('returns the newest first, without ignored files and version control', async () => {
    const { workspace, fs } = await tree(
      'src/a.ts', 'src/deep/b.ts', 'c.ts', '.github/d.ts', '.git/e.ts', 'dist/f.ts', 'dist/keep/g.ts', 'x.js',
      ['.gitignore', 'dist\n*.log\n'],
    )
    for (const [age, path] of ['c.ts', 'src/deep/b.ts', '.github/d.ts', 'src/a.ts'].entries()) {
      await utimes(join(workspace, path), 1_000_000 - age, 1_000_000 - age)
    }
    expect(await fs.find('**/*.ts')).toEqual({ paths: ['c.ts', 'src/deep/b.ts', '.github/d.ts', 'src/a.ts'], total: 4 })
    expect(await fs.find('**/*.ts', { limit: 1 })).toEqual({ paths: ['c.ts'], total: 4 })
    expect(await fs.find('*.ts', { path: 'src' })).toEqual({ paths: ['src/a.ts'], total: 1 })
    expect(await fs.find('*.ts', { path: join(workspace, 'src') }))
      .toEqual({ paths: [join(workspace, 'src/a.ts')], total: 1 })
    // A named folder is searched even if it is ignored.
    expect((await fs.find('dist/**')).paths.toSorted()).toEqual(['dist/f.ts', 'dist/keep/g.ts'])
    expect(await fs.find('nowhere/**')).toEqual({ paths: [], total: 0 })
    expect(await fs.find('src/a.ts')).toEqual({ paths: ['src/a.ts'], total: 1 })
  })

  it('returns the same files in any order', async () => {
    const { fs } = await tree('a.ts', 'src/b.ts', 'dist/c.ts', ['.gitignore', 'dist\n'])
    const { paths, total } = await fs.find('**/*.ts', { order: 'any' })
    expect([paths.toSorted(), total]).toEqual([['a.ts', 'src/b.ts'], 2])
    const some = await fs.find('**/*.ts', { order: 'any', limit: 1 })
    expect([some.paths.length, some.total]).toEqual([1, 2])
    expect(await codeOf(fs.find('**', { order: 'oldest' as 'any' }))).toBe('InputInvalid')
  })

  it('does not count names that are not UTF-8', async () => {
    const { workspace, fs } = await tree('a.txt')
    await writeFile(Buffer.concat([Buffer.from(`${workspace}/b`), Buffer.of(0xff), Buffer.from('.txt')]), '')
    expect(await fs.find('*.txt')).toEqual({ paths: ['a.txt'], total: 1 })
  })

  it('returns the newest first and the total for more than 2,000 files', LONG, async () => {
    const { workspace, fs } = await tree(...Array.from({ length: 7 }, (_, i) => `d${i}/f${i}.txt`))
    // Links are much cheaper than files.
    for (let i = 7; i < 2_100; i++) linkSync(join(workspace, 'd0/f0.txt'), join(workspace, `d${i % 7}/f${i}.txt`))
    await utimes(join(workspace, 'd3/f3.txt'), new Date(2_000_000_000_000), new Date(2_000_000_000_000))
    const { paths, total } = await fs.find('**/*.txt', { limit: 10 })
    expect([paths.length, paths[0], total]).toEqual([10, 'd3/f3.txt', 2_100])
  })

  it('neither follows nor returns links, and skips unreadable folders', async () => {
    const { workspace } = await setUp()
    await mkdir(join(workspace, 'locked'))
    await put(workspace, 'locked/a.md')
    await chmod(join(workspace, 'locked'), 0)
    const { fs } = openFs(workspace, { read: ['**'] })
    const { paths } = await fs.find('**')
    expect(paths.filter((path) => !path.startsWith('locked')).toSorted()).toEqual(['docs/a.md', 'root.txt'])
    expect(await codeOf(fs.find('**', { path: 'docs/folder-link' }))).toBe('CapabilityDenied')
    expect(await codeOf(fs.find('**', { path: '..' }))).toBe('CapabilityDenied')
    expect(await codeOf(fs.find('docs/folder-link/*'))).toBe('CapabilityDenied')
    await chmod(join(workspace, 'locked'), 0o700)
  })

  it('finds only what the grant covers', async () => {
    const workspace = await temporaryFolder()
    await put(workspace, 'public/a.md', 'public/a.txt', 'secret/b.md', 'secret/x\npublic/c.md')
    const { fs } = openFs(workspace, { read: ['public/*.md'] })
    expect(await fs.find('**')).toEqual({ paths: ['public/a.md'], total: 1 })
    expect(await codeOf(fs.find('**', { path: 'secret' }))).toBe('CapabilityDenied')
  })

  it('agrees with a walk and gitignore over random trees', async () => {
    const name = fc.constantFrom('a', 'b', 'c.ts', 'd.log', '.e')
    const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => names.join('/'))
    const rule = fc.constantFrom('a', 'b/', '*.log', '/a', 'a/b', '**/c.ts', '!d.log', '.e')
    await fc.assert(fc.asyncProperty(
      fc.uniqueArray(path, { minLength: 1, maxLength: 12 }), fc.array(rule, { maxLength: 3 }), async (paths, rules) => {
        // A file cannot be the parent of another.
        const files = paths.filter((one) => !paths.some((other) => other.startsWith(`${one}/`)))
        const { fs } = await tree(...files, ['.ignore', rules.join('\n')])
        const ignored = ignore().add(rules)
        const expected = files.filter((file) => !ignored.ignores(file))
        const found = (await fs.find('**')).paths.filter((file) => file !== '.ignore')
        expect(found.toSorted(), rules.join(' ')).toEqual(expected.toSorted())
        // Narrowing must not change the result.
        for (const pattern of [
          '**/*.ts', '*.log', '**/{c.ts,.e}', 'a/*', '**/.e', '**/a', 'b/**/d.*', '{a,b}/*.ts', '**/./c.ts', 'c.t?',
        ]) {
          const { matches, folder } = compileFilePattern(pattern)
          const { paths: some, total } = await fs.find(pattern)
          const isNamed = (file: string): boolean => folder.length > 0 && file.startsWith(`${folder.join('/')}/`)
          expect(some.filter((file) => !isNamed(file)).toSorted(), pattern)
            .toEqual(expected.filter(matches).filter((file) => !isNamed(file)).toSorted())
          expect(total, pattern).toBe(some.length)
        }
      },
    ), { numRuns: thoroughly(1, 40) })
  })
})

describe('searching lines', () => {
  it('returns matches by path and line, with context', async () => {
    const { fs } = await tree(
      ['b.txt', 'one\ntwo\nthree\nfour\ntwo again\n'], ['a/c.txt', 'zero\r\ntwo\r\n'], ['d.bin', 'two\0'],
    )
    expect(await fs.search('two')).toEqual({
      matches: [
        { path: 'a/c.txt', line: 2, text: 'two' }, { path: 'b.txt', line: 2, text: 'two' },
        { path: 'b.txt', line: 5, text: 'two again' },
      ],
      counts: [], total: 3, files: 2, unread: 0,
    })
    expect((await fs.search('two$', { path: 'b.txt', context: 1 })).matches).toEqual([
      { path: 'b.txt', line: 2, text: 'two', before: ['one'], after: ['three'] },
    ])
    expect((await fs.search('three|four', { context: 1 })).matches).toEqual([
      { path: 'b.txt', line: 3, text: 'three', before: ['two'], after: ['four'] },
      { path: 'b.txt', line: 4, text: 'four', before: ['three'], after: ['two again'] },
    ])
    expect(await fs.search('TWO', { ignoreCase: true, want: 'counts', limit: 1 })).toEqual({
      matches: [], counts: [{ path: 'a/c.txt', count: 1 }], total: 3, files: 2, unread: 0,
    })
    expect((await fs.search('one.two', { multiline: true, context: 1 })).matches).toEqual([
      { path: 'b.txt', line: 1, text: 'one\ntwo', after: ['three'] },
    ])
    expect(await fs.search('nowhere to be found')).toEqual({ matches: [], counts: [], total: 0, files: 0, unread: 0 })
    expect(await fs.search('-e', { want: 'counts' })).toMatchObject({ total: 0 })
  })

  it('searches only the given path, without ignored files', async () => {
    const { fs } = await tree(
      ['a.ts', 'x'], ['a.js', 'x'], ['src/b.ts', 'x'], ['src/c.log', 'x'], ['lib/deep/d.ts', 'x'],
      ['.ignore', '*.log\nlib\n'],
    )
    const paths = async (options: object) => (await fs.search('x', options)).matches.map(({ path }) => path)
    expect(await paths({})).toEqual(['a.js', 'a.ts', 'src/b.ts'])
    expect(await paths({ glob: '*.ts' })).toEqual(['a.ts', 'src/b.ts'])
    expect(await paths({ glob: '/*.ts' })).toEqual(['a.ts'])
    expect(await paths({ glob: '*.log' })).toEqual([])
    expect(await paths({ glob: '**/*' })).toEqual(['a.js', 'a.ts', 'src/b.ts'])
    expect(await paths({ glob: 'src/*.{ts,log}' })).toEqual(['src/b.ts'])
    expect(await paths({ glob: '{src,lib}/**/*.ts' })).toEqual(['src/b.ts'])
    expect(await paths({ type: 'js' })).toEqual(['a.js'])
    expect(await paths({ type: 'ts', glob: 'src/**' })).toEqual(['src/b.ts'])
    expect(await paths({ path: 'src' })).toEqual(['src/b.ts'])
    expect(await paths({ path: 'src/c.log' })).toEqual(['src/c.log'])
  })

  it('returns the first matches and counts all', async () => {
    const { fs } = await tree(
      ...Array.from({ length: 50 }, (_, i) => [`f${String(i).padStart(2, '0')}`, 'hit\n'.repeat(100)] as const),
    )
    const { matches, total, files } = await fs.search('hit', { limit: 150, context: 2 })
    expect([total, files, matches.length]).toEqual([5_000, 50, 150])
    expect(matches.at(-1))
      .toEqual({ path: 'f01', line: 50, text: 'hit', before: ['hit', 'hit'], after: ['hit', 'hit'] })
    expect((await fs.search('hit', { limit: 3, context: 1 })).matches.at(-1))
      .toEqual({ path: 'f00', line: 3, text: 'hit', before: ['hit'], after: ['hit'] })
  })

  it('returns the start of long lines, whatever they contain', async () => {
    const { fs } = await tree(['a.js', `${'é'.repeat(1_500)}needle`], [
      'b.js', `${'"\\\n'.repeat(3)}${'\\"é'.repeat(100_000)}needle`,
    ])
    const { matches } = await fs.search('needle')
    expect(matches.map(({ path, line, cut }) => [path, line, cut])).toEqual([['a.js', 1, true], ['b.js', 4, true]])
    expect(matches[0]!.text).toBe('é'.repeat(1_000))
    expect(matches[1]!.text).toBe('\\"é'.repeat(500))
  })

  it('finds text that is not UTF-8, and skips binary and sparse files', async () => {
    const { workspace, fs } = await tree('huge')
    await truncate(join(workspace, 'huge'), 1024 ** 3)
    await writeFile(join(workspace, 'latin'), Buffer.from('caf\xe9 needle\n', 'latin1'))
    await writeFile(join(workspace, 'wide'), Buffer.from('\ufeffa needle', 'utf16le'))
    expect((await fs.search('needle')).matches).toEqual([
      { path: 'latin', line: 1, text: 'caf\ufffd needle' }, { path: 'wide', line: 1, text: 'a needle' },
    ])
  })

  it('returns nothing outside the grant, whatever the file names', async () => {
    const { workspace, outside } = await setUp()
    await put(workspace, ['open/a', CANARY], ['shut/b', CANARY], ['shut/x\n./open/c', CANARY], [
      'open/d\nshut:1:x', CANARY,
    ])
    await symlink(join(outside, 'secret.txt'), join(workspace, 'open/link'))
    const { fs } = openFs(workspace, { read: ['open/**'] })
    expect((await fs.search('canary')).matches.map(({ path }) => path)).toEqual(['open/a', 'open/d\nshut:1:x'])
    expect((await fs.search('canary', { want: 'counts' })).counts.map(({ path }) => path))
      .toEqual(['open/a', 'open/d\nshut:1:x'])
    for (const path of ['shut', 'shut/b', 'open/link', '../outside', '/etc']) {
      expect(await codeOf(fs.search('canary', { path })), path).toBe('CapabilityDenied')
    }
  })

  it.each([
    ['an invalid pattern', '(', {}], ['an empty pattern', '', {}], ['a NUL', 'a\0', {}],
    ['an unknown type', 'x', { type: 'nope' }],
    ['an option as type', 'x', { type: '--pre=sh' }], ['a glob that leaves the folder', 'x', { glob: '../*' }],
    ['a negated glob', 'x', { glob: '!*.ts' }],
    ['a negative context', 'x', { context: -1 }], ['a lookbehind', '(?<=a)b', {}],
    ['an unpaired surrogate', '\ud800', {}],
  ])('rejects %s', async (_, pattern, options) => {
    const { fs } = await tree('a')
    expect(await codeOf(fs.search(pattern, options))).toBe('InputInvalid')
  })

  it.each([
    ['(?<=a)b', 'look-ahead and look-behind, is not supported here. Write the pattern without it.'],
    ['(a)\\1', 'backreferences are not supported here. Write the pattern without it.'],
    ['a\\nb', 'is not allowed in a regex. Set `multiline` to search across lines.'],
  ])('gives advice that applies to tools: %s', async (pattern, message) => {
    const { fs } = await tree('a')
    await expect(fs.search(pattern)).rejects.toThrow(message)
  })

  it('does not interpret a pattern as an option', async () => {
    const { fs } = await tree(['a', '--pre=id\n'])
    expect((await fs.search('--pre=id')).total).toBe(1)
  })

  it.each(['is cancelled', 'has ended'])('ends when its call %s, and leaves no process', async (how) => {
    const { workspace, fs, call, endCall } = await tree('huge')
    await truncate(join(workspace, 'huge'), 256 * 1024 ** 3)
    const children = (): Promise<string> => readFile(`/proc/self/task/${process.pid}/children`, 'utf8')
    const before = await children()
    const searching = codeOf(fs.search('needle', { path: 'huge' }))
    await expect.poll(children).not.toBe(before)
    if (how === 'has ended') endCall()
    else call.abort(new Error('enough'))
    expect(await searching).toBe('ToolCancelled')
    expect(await children()).toBe(before)
  })
})
