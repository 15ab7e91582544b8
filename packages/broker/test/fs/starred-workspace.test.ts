import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { UntrustedFolders } from '../../src/process/executable.ts'
import { temporaryFolder } from '../fixture.ts'
import { codeOf, openFs, put } from './setup.ts'

describe.each(['*', '**', 'a*b', '[ab]', '{a,b}', '?', '!a', 'a b'])('a workspace named %j', (name) => {
  it('is accessible, and its siblings are not', name === '*' ? {} : LONG, async () => {
    const root = await temporaryFolder()
    const workspace = join(root, name)
    await put(workspace, ['docs/a.md', 'inside'], ['src/b.ts', 'needle'])
    await put(join(root, 'axb'), ['docs/a.md', 'outside'])
    const { fs } = openFs(workspace, { read: ['**'], write: ['docs/**'] })
    expect(await fs.readText('docs/a.md')).toBe('inside')
    expect(await fs.readText(join(workspace, 'docs/a.md'))).toBe('inside')
    await fs.write('docs/new/c.md', 'new')
    await fs.edit('docs/a.md', 'inside', 'edited')
    expect((await fs.list('docs')).map((entry) => entry.name).toSorted()).toEqual(['a.md', 'new'])
    expect((await fs.glob('**/*.md')).toSorted()).toEqual(['docs/a.md', 'docs/new/c.md'])
    expect((await fs.search('needle')).total).toBe(1)
    expect((await fs.find('**/*.ts')).total).toBe(1)
    await fs.remove('docs/new/c.md')
    for (const path of [join(root, 'axb/docs/a.md'), '../axb/docs/a.md']) {
      expect(await codeOf(fs.readText(path))).toBe('CapabilityDenied')
      expect(await codeOf(fs.write(path, 'x'))).toBe('CapabilityDenied')
    }
    expect(await codeOf(fs.write('src/b.ts', 'x'))).toBe('CapabilityDenied')
    expect(await codeOf(fs.write('.git/config', 'x'))).toBe('CapabilityDenied')
  })
})

it('allows programs next to a workspace with a star in its name', async () => {
  const root = await temporaryFolder()
  for (const folder of ['*', 'bin']) mkdirSync(join(root, folder))
  writeFileSync(join(root, 'bin/tool'), '')
  const workspace = join(root, '*')
  const limits = new UntrustedFolders([workspace, `${workspace}/out/**`], [workspace])
  expect(await limits.reaches(join(root, 'bin/tool'))).toBe(false)
  expect(await limits.reaches(join(workspace, 'tool'))).toBe(true)
})
