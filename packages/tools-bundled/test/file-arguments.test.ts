import { describe, expect, it } from 'vitest'
import type { JsonObject } from '@bulkhead/kit/json'
import { argumentsReaders } from '../src/index.ts'

const WORKSPACE = '/home/me/project'
const reading = (tool: Parameters<typeof argumentsReaders.get>[0], args: JsonObject) =>
  argumentsReaders.get(tool)!(args, { workspace: WORKSPACE })

describe('the arguments reader of a file tool', () => {
  it.each<[string, string, readonly string[], string]>([
    ['a.txt', 'a.txt', ['./'], '.'],
    ['src/a.txt', 'src/a.txt', ['src/', './'], 'src'],
    ['src/deep/er/a.txt', 'src/deep/er/a.txt', ['src/deep/er/', 'src/deep/', 'src/', './'], 'src/deep/er'],
    [`${WORKSPACE}/src/a.txt`, 'src/a.txt', ['src/', './'], 'src'],
    [`${WORKSPACE}/a.txt`, 'a.txt', ['./'], '.'],
    ['/etc/ssl/a', '/etc/ssl/a', ['/etc/ssl/', '/etc/', '/'], '/etc/ssl'],
    ['/a', '/a', ['/'], '/'],
    // After a link, `..` could lead anywhere.
    ['src/link/../a.txt', 'src/a.txt', [], 'src'],
    ['../a.txt', '../a.txt', [], '..'],
    ['../../x/a.txt', '../../x/a.txt', [], '../../x'],
    [
      `${WORKSPACE}-other/a.txt`, '/home/me/project-other/a.txt',
      ['/home/me/project-other/', '/home/me/', '/home/', '/'], '/home/me/project-other',
    ],
  ])('maps %j to the key %j within %j, which rules name by %j', (path, key, within, plain) => {
    for (const tool of ['read', 'write', 'edit'] as const) {
      expect(reading(tool, { path })).toMatchObject({
        key, subjects: [{ key, within, plain, place: { kind: 'file' } }],
      })
    }
  })

  it('uses the folder itself as the key of a search', () => {
    expect(reading('grep', { pattern: 'x', path: 'src/deep' })).toMatchObject({
      key: 'src/deep', subjects: [{ within: ['src', '.'] }],
    })
    expect(reading('grep', { pattern: 'x' })).toMatchObject({ key: '.', touches: [`read all below ${WORKSPACE}`] })
    expect(reading('glob', { pattern: '*.ts', path: 'src' })).toMatchObject({
      key: 'src', touches: [`read the names below ${WORKSPACE}/src`],
    })
    expect(reading('glob', { pattern: `${WORKSPACE}/src/*.ts` })).toMatchObject({ key: 'src' })
  })

  it('lists all parent folders, and none if the path is too long', () => {
    const [subject] = reading('write', { path: 'x/'.repeat(2_048) }).subjects
    expect(subject?.within).toHaveLength(2_048)
    expect(subject?.within?.slice(-3)).toEqual(['x/x/', 'x/', './'])
    // Listing the parents of longer arguments would exhaust the memory of the host.
    for (const tool of ['read', 'write', 'edit', 'grep', 'glob'] as const) {
      expect(reading(tool, { pattern: '*', path: 'x/'.repeat(10_000) }).subjects[0]?.within).toEqual([])
    }
  })

  it('adds no further names, because rules match the path', () => {
    expect(reading('write', { path: 'src/a' }).subjects[0]).not.toHaveProperty('names')
  })
})

it.each<[Parameters<typeof argumentsReaders.get>[0], JsonObject, readonly string[]]>([
  ['write', { path: 'src/a.txt', content: '' }, [`write ${WORKSPACE}/src/a.txt`]],
  ['edit', { path: './src/../lib/a.txt' }, ['read and write ./src/../lib/a.txt']],
  ['read', { path: '/etc/passwd' }, ['read /etc/passwd']],
  ['list', { path: 'src' }, [`read the names below ${WORKSPACE}/src`]],
  ['repo_overview', {}, [`read the names and project files below ${WORKSPACE}`]],
  [
    'apply_patch',
    {
      patch:
        '*** Begin Patch\n*** Add File: a\n+x\n*** Update File: b/c\n*** Move to: d\n*** Delete File: e\n*** End Patch',
    },
    [`create ${WORKSPACE}/a`, `move ${WORKSPACE}/b/c`, `create ${WORKSPACE}/d`, `delete ${WORKSPACE}/e`],
  ],
  ['apply_patch', { patch: '--- a/src/x\n+++ b/src/x\n@@ -1 +1 @@\n-a\n+b\n' }, [`change ${WORKSPACE}/src/x`]],
  ['apply_patch', { patch: 'Change it, please.' }, ['nothing: it is not a patch']],
  ['web_fetch', { url: 'https://user:pw@api.example.com:8443/x?y' }, ['reach api.example.com:8443']],
  ['web_fetch', { url: 'nonsense' }, ['nothing: it is not a URL']],
  [
    'bash', { command: 'git push origin main && npm test > out.txt' },
    ['run git push origin main', 'run npm test > out.txt', 'write out.txt'],
  ],
  ['bash', { command: 'rm -rf build', cwd: 'src' }, ['run [in src] rm -rf build']],
  ['bash', { command: 'for f in *; do rm $f; done' }, ['run in a shell: for f in *; do rm $f; done']],
])('%s %j shows %j in the approval prompt', (tool, args, touches) => {
  expect(reading(tool, args).touches).toEqual(touches)
})

describe('the arguments reader of a patch', () => {
  const patch = (...lines: string[]) => ({ patch: ['*** Begin Patch', ...lines, '*** End Patch'].join('\n') })
  const file = (path: string) => ({ path: `${WORKSPACE}/${path}`, below: false })

  it('names every file for rules and for approvals', () => {
    const copy = { patch: 'diff --git a/src/x b/lib/y\nsimilarity index 100%\ncopy from src/x\ncopy to lib/y\n' }
    expect(reading('apply_patch', copy)).toMatchObject({
      key: 'lib/y // src/x',
      subjects: [{ key: 'src/x', within: ['src/', './'] }, { key: 'lib/y', within: ['lib/', './'] }],
      needs: [{ kind: 'fs.read', subject: `${WORKSPACE}/src/x` }, { kind: 'fs.write', subject: `${WORKSPACE}/lib/y` }],
      effects: { reads: [file('src/x'), file('lib/y')], writes: [file('lib/y')], net: false },
    })
    expect(
      reading(
        'apply_patch', patch('*** Delete File: src/a/x', '*** Add File: src/b/y', '+y', '*** Add File: src/b/z', '+z'),
      ),
    ).toMatchObject({
      key: 'src/a/x // src/b/y // src/b/z',
      subjects: [{ key: 'src/a/x', within: ['src/a/', 'src/', './'] }, { key: 'src/b/y' }, { key: 'src/b/z' }],
      needs: [
        { kind: 'fs.read', subject: `${WORKSPACE}/src/a/x` }, { kind: 'fs.write', subject: `${WORKSPACE}/src/a/x` },
        { kind: 'fs.write', subject: `${WORKSPACE}/src/b/y` }, { kind: 'fs.write', subject: `${WORKSPACE}/src/b/z` },
      ],
      effects: { writes: [file('src/a/x'), file('src/b/y'), file('src/b/z')] },
    })
  })

  it('asks for nothing if the patch cannot be read', () => {
    const unreadable = { effects: { reads: [], writes: [], net: false }, onlyReads: true }
    expect(reading('apply_patch', { patch: 'x' })).toMatchObject(unreadable)
    expect(reading('apply_patch', patch('*** Add File: ../x', '+x'))).toMatchObject(unreadable)
  })

  it('denies a patch of a protected place, and covers no file outside by an approval', () => {
    expect(
      reading('apply_patch', patch('*** Add File: ok', '+x', '*** Add File: .git/hooks/x', '+x')).denies,
    ).toHaveLength(1)
    const outside = reading('apply_patch', patch('*** Add File: src/x', '+x', '*** Add File: /etc/x', '+x'))
    expect(outside).toMatchObject({
      key: '/etc/x // src/x', subjects: [{ key: 'src/x' }, { key: '/etc/x', within: ['/etc/', '/'] }],
    })
    expect(outside).not.toHaveProperty('effects')
  })
})
