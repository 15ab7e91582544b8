// @module-tag git
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { needs } from '../../../../../scripts/machine.ts'
import { toolSession } from '../../../test/tool-session.ts'
import { gitIn, repositoryIn } from './repository.ts'

const outside = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-git-wall-')))
afterAll(() => rmSync(outside, { recursive: true }))
const session = toolSession('git')

it('git cannot see folders outside the workspace', needs('bubblewrap'), async () => {
  const hidden = repositoryIn(join(outside, 'hidden'), { 'b.txt': 'precious\n' })
  const own = repositoryIn(join(session.workspace, 'r'), { 'a.txt': 'one\n' })
  const blob = gitIn(hidden, 'rev-parse', 'HEAD:b.txt').trim()
  const [start, rest] = [blob.slice(0, 2), blob.slice(2)]
  mkdirSync(join(own, '.git/objects', start), { recursive: true })
  symlinkSync(join(hidden, '.git/objects', start, rest), join(own, '.git/objects', start, rest))
  gitIn(own, 'update-index', '--add', '--cacheinfo', `100644,${blob},b.txt`)
  expect(gitIn(own, 'show', ':b.txt')).toBe('precious\n')
  expect(await session.refusal({ action: 'show', path: 'r', revision: ':b.txt' })).toMatchObject({
    code: 'ToolExecutionFailed',
  })
})
