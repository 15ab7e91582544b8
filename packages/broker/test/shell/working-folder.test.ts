import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import { any, ShellSetup } from './shell-setup.ts'

const setup = new ShellSetup()
afterAll(() => setup.clear())
const inside = (name: string): string => join(setup.workspace, name)
mkdirSync(inside('src/deep'), { recursive: true })
mkdirSync(inside('private'))
mkdirSync(join(setup.root, 'outside'))
writeFileSync(inside('file'), '')
symlinkSync('src', inside('linked'))
symlinkSync(join(setup.root, 'outside'), inside('out'))
symlinkSync('../private', inside('src/aside'))

const fs = {
  read: [...['src', 'linked', 'file', 'out', 'missing'].map(inside), join(setup.root, 'outside')], write: [],
}
const { shell } = setup.open({ shell: any('pwd'), fs })
const pwd = async (cwd?: string): Promise<string> =>
  (await shell.run('pwd', ['-P'], cwd === undefined ? {} : { cwd })).stdout.trim()

it.each([
  ['the workspace by default', undefined, ''],
  ['the workspace as a dot', '.', ''],
  ['the workspace by its path', setup.workspace, ''],
  ['a folder the tool may read', 'src', 'src'],
  ['a folder below it', 'src/deep', 'src/deep'],
  ['a folder by a path with ..', 'src/../src/deep/', 'src/deep'],
  ['a folder by its absolute path', inside('src'), 'src'],
  ['a folder behind a link that stays inside', 'linked/deep', 'src/deep'],
])('starts a command in %s', async (_, cwd, folder) => {
  expect(await pwd(cwd)).toBe(join(setup.workspace, folder))
})

it('starts a command in the workspace without a grant to read', async () => {
  const other = setup.open({ shell: any('pwd') })
  expect((await other.shell.run('pwd', ['-P'])).stdout.trim()).toBe(setup.workspace)
})

it.each([
  ['a folder the tool may not read', 'private', 'CapabilityDenied'],
  ['the parent of the workspace', '..', 'CapabilityDenied'],
  ['a folder outside, though readable', join(setup.root, 'outside'), 'CapabilityDenied'],
  ['a link out of the workspace', 'out', 'CapabilityDenied'],
  ['a link out of the readable folders', 'src/aside', 'CapabilityDenied'],
  ['a file', 'file', 'NotFound'],
  ['a missing folder', 'missing', 'NotFound'],
  ['an empty name', '', 'InputInvalid'],
  ['a NUL', 'src\0', 'InputInvalid'],
])('does not start a command in %s', async (_, cwd, code) => {
  await expect(pwd(cwd)).rejects.toMatchObject({ code })
})

it('reports a removed workspace as missing', async () => {
  const gone = new ShellSetup()
  onTestFinished(() => gone.clear())
  const opened = gone.open({ shell: any('pwd') })
  rmSync(gone.workspace, { recursive: true })
  await expect(opened.shell.run('pwd')).rejects.toMatchObject({ code: 'NotFound', message: '"." does not exist.' })
})
