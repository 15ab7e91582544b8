import { readdir } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { edit } from '../src/edit/edit.ts'
import { glob } from '../src/glob/glob.ts'
import { grep } from '../src/grep/grep.ts'
import { refuseHome } from '../src/model/paths.ts'
import { read } from '../src/read/read.ts'
import { write } from '../src/write/write.ts'
import { toolSession } from './tool-session.ts'

it.each([undefined, '', 'a~', '~a', './~', './~/a', 'a/~/b', '~$report.docx'])('accepts the path %j', (path) => {
  expect(() => refuseHome(path)).not.toThrow()
})

describe.each([
  ['read', read, {}], ['write', write, { content: 'x' }], ['edit', edit, { old_string: 'a', new_string: 'b' }], ['grep', grep, { pattern: 'a' }],
  ['glob', glob, { pattern: '*' }],
] as const)('%s', (_, bundled, args) => {
  const tool = toolSession(bundled)

  it('refuses ~ instead of creating a folder with this name', async () => {
    for (const path of ['~', '~/notes.txt']) {
      expect(await tool.refusal({ ...args, path })).toMatchObject({ code: 'InputInvalid', message: expect.stringContaining(`"${path}" begins with "~"`) })
    }
    expect(await readdir(tool.workspace)).toEqual([])
  })
})
