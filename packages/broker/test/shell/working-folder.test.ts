import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import { any, ShellGround } from './shell-ground.ts'

const ground = new ShellGround()
afterAll(() => ground.clear())
const inside = (name: string): string => join(ground.workspace, name)
mkdirSync(inside('src/deep'), { recursive: true })
mkdirSync(inside('private'))
mkdirSync(join(ground.root, 'outside'))
writeFileSync(inside('file'), '')
symlinkSync('src', inside('linked'))
symlinkSync(join(ground.root, 'outside'), inside('out'))
symlinkSync('../private', inside('src/aside'))

const fs = { read: [...['src', 'linked', 'file', 'out', 'missing'].map(inside), join(ground.root, 'outside')], write: [] }
const pwd = async (cwd?: string): Promise<string> => {
  const { shell } = ground.open({ shell: any('pwd'), fs })
  return (await shell.run('pwd', ['-P'], cwd === undefined ? {} : { cwd })).stdout.trim()
}

it.each([
  ['the workspace by default', undefined, ''],
  ['the workspace by name', '.', ''],
  ['the workspace by its path', ground.workspace, ''],
  ['a folder the tool may read', 'src', 'src'],
  ['one below it', 'src/deep', 'src/deep'],
  ['one with a way round', 'src/../src/deep/', 'src/deep'],
  ['one by its whole path', inside('src'), 'src'],
  ['one through a link that stays inside', 'linked/deep', 'src/deep'],
])('a command starts in %s', async (_, cwd, folder) => {
  expect(await pwd(cwd)).toBe(join(ground.workspace, folder))
})

it('the workspace is given without any right to read', async () => {
  const { shell } = ground.open({ shell: any('pwd') })
  expect((await shell.run('pwd', ['-P'])).stdout.trim()).toBe(ground.workspace)
})

it.each([
  ['a folder the tool may not read', 'private', 'CapabilityDenied'],
  ['above the workspace', '..', 'CapabilityDenied'],
  ['a folder outside, though readable', join(ground.root, 'outside'), 'CapabilityDenied'],
  ['a link out of the workspace', 'out', 'CapabilityDenied'],
  ['a link out of what is readable', 'src/aside', 'CapabilityDenied'],
  ['a file', 'file', 'NotFound'],
  ['nothing', 'missing', 'NotFound'],
  ['an empty name', '', 'InputInvalid'],
  ['a NUL', 'src\0', 'InputInvalid'],
])('but not in %s', async (_, cwd, code) => {
  await expect(pwd(cwd)).rejects.toMatchObject({ code })
})

it('a workspace that is gone is reported as missing', async () => {
  const gone = new ShellGround()
  onTestFinished(() => gone.clear())
  const { shell } = gone.open({ shell: any('pwd') })
  rmSync(gone.workspace, { recursive: true })
  await expect(shell.run('pwd')).rejects.toMatchObject({ code: 'NotFound', message: '"." does not exist.' })
})
