import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { codeOfCommand, findProgram, includesPath, isOfSystem } from '../src/programs.ts'

let folder: string
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-programs-')))
})
afterEach(() => rmSync(folder, { recursive: true }))

function program(path: string, text = 'binary'): string {
  const file = join(folder, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  chmodSync(file, 0o755)
  return file
}
const codeOf = (file: string, args: readonly string[] = [], path = '/usr/bin') =>
  codeOfCommand(file, args, folder, path).map((one) => one.replace(`${folder}/`, ''))

it('finds a program by its path, or in absolute folders only', () => {
  const file = program('bin/tool')
  writeFileSync(join(folder, 'bin/text'), '')
  expect(findProgram('tool', folder, `bin:${folder}/none:${folder}/bin`)).toBe(file)
  expect(findProgram('bin/tool', folder, '')).toBe(file)
  for (const name of ['tool', 'text', 'bin']) expect(findProgram(name, folder, 'bin:')).toBeUndefined()
})

it('the code of a program is its file and its libraries, never the folder that it lies in', () => {
  expect(codeOf(program('tool'))).toEqual(['tool'])
  expect(codeOf(program('.local/bin/tool'))).toEqual(['.local/bin/tool'])
  mkdirSync(join(folder, '.local/lib'))
  expect(codeOf(join(folder, '.local/bin/tool'))).toEqual(['.local/bin/tool', '.local/lib'])
  expect(codeOf('/usr/bin/env')).toEqual([])
  expect(codeOf(join(folder, 'none'))).toEqual([])
})

it('packages of Node come with the outermost node_modules, also through links and for scripts in arguments', () => {
  const file = program('app/node_modules/.pnpm/a/node_modules/a/cli.js', '#!/usr/bin/env tool\n')
  symlinkSync(file, join(folder, 'linked'))
  program('tools/tool')
  expect(codeOf(join(folder, 'linked'), [], join(folder, 'tools'))).toEqual([
    'linked', 'app/node_modules', 'tools/tool',
  ])
  expect(codeOf('/usr/bin/env', [file, 'linked', '/usr/lib', 'none'])).toEqual(['app/node_modules'])
})

it('an environment of Python comes as a whole, with the interpreter that it links to, through every link', () => {
  const script = program('venv/bin/serve', `#!${join(folder, 'venv/bin/python')}\n`)
  program('venv/pyvenv.cfg')
  program('python/bin/python3.11')
  mkdirSync(join(folder, 'python/lib'))
  symlinkSync('python3.11', join(folder, 'python/bin/python'))
  symlinkSync(join(folder, 'python/bin/python'), join(folder, 'venv/bin/python'))
  expect(codeOf(script).toSorted()).toEqual(['python/bin/python', 'python/bin/python3.11', 'python/lib', 'venv'])
})

it('a link of an environment that is meant relative to another folder is left out, and its real file is not', () => {
  const script = program('venv/bin/serve', `#!${join(folder, 'venv/bin/python')}\n`)
  program('venv/pyvenv.cfg')
  program('versions/3/python')
  mkdirSync(join(folder, 'versions/3/bin'))
  symlinkSync('../python', join(folder, 'versions/3/bin/python'))
  symlinkSync(join(folder, 'versions/3/bin'), join(folder, 'current'))
  symlinkSync(join(folder, 'current/python'), join(folder, 'venv/bin/python'))
  expect(codeOf(script)).toEqual(expect.arrayContaining(['venv', 'current/python', 'versions/3/python']))
})

it('a script that names itself as interpreter ends', () => {
  expect(codeOf(program('loop', `#!${join(folder, 'loop')}\n`))).toEqual(['loop'])
})

it('compares paths by segments and with links followed', () => {
  program('data/file')
  symlinkSync(join(folder, 'data'), join(folder, 'link'))
  expect(
    [`${folder}/data`, `${folder}/data/file`, `${folder}/link/file`].map((path) =>
      includesPath([join(folder, 'data')], path),
    ),
  ).toEqual([true, true, true])
  expect([`${folder}/database`, folder].map((path) => includesPath([join(folder, 'data')], path))).toEqual([
    false, false,
  ])
  expect(['/usr/lib', '/usrlocal', '/etc'].map(isOfSystem)).toEqual([true, false, false])
})
