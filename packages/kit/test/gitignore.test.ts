import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { needs } from '../../../scripts/machine.ts'
import { LONG } from '../../../scripts/thoroughly.ts'
import { Gitignore } from '../src/gitignore.ts'

const PATHS = [
  '.env', '.env.local', 'a', 'a.txt', 'b.md', 'build/x', 'build/keep', 'src/.env', 'src/build', 'src/a.txt',
  'src/deep/a.txt', 'src/deep/b/c', 'docs/secrets/k', 'secrets/k', 'secrets/public/p', 'logs/1.log', 'logs/2.log',
  'x [1]', 'x1', 'x2', 'xy', '#note', '!bang', 'trail ', 'back\\slash', 'ünïcode', 'src/deep/build/q', 'foo/bar/baz',
  'foo/baz', '-dash', ']',
]
const FILES = [
  '.env', '*.txt', '/a', 'build/', '/build', 'src/**', '**/secrets', 'secrets/*\n!secrets/public', '*.log\n!2.log',
  'build\n!build/keep', '/*\n!/src\n!/docs', 'src/*/a.txt', 'src/**/a.txt', '**/deep', 'foo/**/baz', '**', '*', 'x?',
  'x[0-9]', 'x[!0-9]', 'x[^1]', 'x[[:digit:]]', 'x \\[1\\]', '\\#note', '\\!bang', 'trail\\ ', '# a comment\n\n.env\n',
  '[]]', '[-a]*', 'back\\\\slash', 'ünï*', '.env*\n!.env.local', 'src/deep/', 'docs/secrets', 'secrets/',
  '/secrets/public/', '*/', '!a\n*', '*\n!a', 'deep/b', '/**/b', 'src/***/a.txt', '\uFEFF.env', '.env\r\n*.md\r\n',
  'trail   ', 'a*t', 'docs/**/k', '**/',
]

it('excludes what git excludes', { ...needs('git'), ...LONG }, () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'gitignore-')))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const git = (...args: readonly string[]): string => execFileSync('git', args, {
    cwd: folder, encoding: 'utf8', input: PATHS.join('\0'), stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null' },
  })
  git('init', '-q')
  for (const path of PATHS) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), '')
  }
  for (const file of FILES) {
    writeFileSync(join(folder, '.gitignore'), file)
    let listed = ''
    try {
      listed = git('check-ignore', '--no-index', '-z', '--stdin')
    } catch (error) {
      // It excludes nothing.
      expect(error).toMatchObject({ status: 1 })
    }
    const own = new Gitignore(file)
    const excluded = PATHS.filter((path) => own.lineFor(path.split('/'), () => false) !== undefined)
    expect(excluded, JSON.stringify(file)).toEqual(PATHS.filter((path) => listed.split('\0').includes(path)))
  }
})

it('names the line, and asks for folders only where that matters', () => {
  const own = new Gitignore('# keys\nkeys/\n*.pem\n')
  expect(own.lineFor(['keys', 'k'], () => { throw new Error('not needed') })).toBe('keys/')
  expect(own.lineFor(['keys'], () => true)).toBe('keys/')
  expect(own.lineFor(['keys'], () => false)).toBeUndefined()
  expect(own.lineFor(['a', 'b.pem'], () => false)).toBe('*.pem')
})

it.each([['a\n[b', 'Line 2'], ['a\\', 'Line 1'], ['[[:nothing:]]', 'class']])('refuses %j', (text, why) => {
  expect(() => new Gitignore(text)).toThrow(why)
})

it('takes little time for a long pattern', () => {
  const own = new Gitignore(`${'*a'.repeat(2_000)}b`)
  expect(own.lineFor(['a'.repeat(4_000)], () => false)).toBeUndefined()
})
