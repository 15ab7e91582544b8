import { readdir } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { refuseHome } from '../src/model/paths.ts'
import { toolSession } from './tool-session.ts'

it.each([undefined, '', 'a~', '~a', './~', './~/a', 'a/~/b', '~$report.docx'])('accepts the path %j', (path) => {
  expect(() => refuseHome(path)).not.toThrow()
})

describe.each([
  ['read', {}], ['write', { content: 'x' }], ['edit', { old_string: 'a', new_string: 'b' }], ['grep', { pattern: 'a' }],
  ['glob', { pattern: '*' }],
] as const)('the tool %s', (name, args) => {
  const tool = toolSession(name)

  it('refuses ~ instead of creating a folder with this name', async () => {
    for (const path of ['~', '~/notes.txt']) {
      expect(await tool.refusal({ ...args, path })).toMatchObject({
        code: 'InputInvalid', message: expect.stringContaining(`"${path}" begins with "~"`),
      })
    }
    expect(await readdir(tool.workspace)).toEqual([])
  })
})
