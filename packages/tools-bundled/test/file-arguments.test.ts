import { describe, expect, it } from 'vitest'
import type { JsonObject } from '@bulkhead/kit/json'
import { argumentsReaders } from '../src/index.ts'

const WORKSPACE = '/home/me/project'
const reading = (tool: Parameters<typeof argumentsReaders.get>[0], args: JsonObject) => argumentsReaders.get(tool)!(args, { workspace: WORKSPACE })

describe('the arguments reader of a file tool', () => {
  it.each<[string, string, readonly string[]]>([
    ['a.txt', '.', []],
    ['src/a.txt', 'src', ['.']],
    ['src/deep/er/a.txt', 'src/deep/er', ['src/deep', 'src', '.']],
    [`${WORKSPACE}/src/a.txt`, 'src', ['.']],
    [`${WORKSPACE}/a.txt`, '.', []],
    ['/etc/ssl/a', '/etc/ssl', ['/etc', '/']],
    ['/a', '/', []],
    // After a link, `..` could lead anywhere.
    ['src/link/../a.txt', 'src', []],
    ['../a.txt', '..', []],
    ['../../x/a.txt', '../../x', []],
    [`${WORKSPACE}-other/a.txt`, '/home/me/project-other', ['/home/me', '/home', '/']],
  ])('maps %j to the key %j within %j', (path, key, within) => {
    for (const tool of ['read', 'write', 'edit'] as const) {
      expect(reading(tool, { path })).toMatchObject({ key, subjects: [{ key, within }] })
    }
  })

  it('uses the folder itself as the key of a search', () => {
    expect(reading('grep', { pattern: 'x', path: 'src/deep' })).toMatchObject({ key: 'src/deep', subjects: [{ within: ['src', '.'] }] })
    expect(reading('grep', { pattern: 'x' })).toMatchObject({ key: '.', touches: [`read all below ${WORKSPACE}`] })
    expect(reading('glob', { pattern: '*.ts', path: 'src' })).toMatchObject({ key: 'src', touches: [`read the names below ${WORKSPACE}/src`] })
    expect(reading('glob', { pattern: `${WORKSPACE}/src/*.ts` })).toMatchObject({ key: 'src' })
  })

  it('lists all parent folders, and none if the path is too long', () => {
    const [subject] = reading('write', { path: 'x/'.repeat(2_048) }).subjects
    expect(subject?.within).toHaveLength(2_047)
    expect(subject?.within?.slice(-3)).toEqual(['x/x', 'x', '.'])
    // Listing the parents of longer arguments would exhaust the memory of the host.
    for (const tool of ['read', 'write', 'edit', 'grep', 'glob'] as const) {
      expect(reading(tool, { pattern: '*', path: 'x/'.repeat(100_000) }).subjects[0]?.within).toEqual([])
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
  ['web_fetch', { url: 'https://user:pw@api.example.com:8443/x?y' }, ['reach api.example.com:8443']],
  ['web_fetch', { url: 'nonsense' }, ['nothing: it is not a URL']],
  ['bash', { command: 'git push origin main && npm test > out.txt' }, ['run git push origin main', 'run npm test > out.txt', 'write out.txt']],
  ['bash', { command: 'rm -rf build', cwd: 'src' }, ['run [in src] rm -rf build']],
  ['bash', { command: 'for f in *; do rm $f; done' }, ['run in a shell: for f in *; do rm $f; done']],
])('%s %j shows %j in the approval prompt', (tool, args, touches) => {
  expect(reading(tool, args).touches).toEqual(touches)
})
