import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { runProgram } from '../program-inside.ts'
import { BLOCKS, ROOT } from './blocks.ts'

it('the program of the guide prints what the page says', LONG, async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-hooks-guide-')))
  const own = BLOCKS.filter(({ page }) => page === 'docs/guides/hooks.md')
  const program = own.findIndex(({ file }) => file === 'policy.ts')
  try {
    for (const name of ['node_modules', 'home']) mkdirSync(join(folder, name))
    symlinkSync(join(ROOT, 'packages/bulkhead'), join(folder, 'node_modules/bulkhead'))
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    writeFileSync(join(folder, 'policy.ts'), own[program]!.text)
    const ran = await runProgram({
      file: 'policy.ts', cwd: folder, env: { PATH: process.env['PATH'], HOME: join(folder, 'home') },
    })
    expect(ran).toMatchObject({ code: 0, stdout: own[program + 1]!.text })
  } finally {
    rmSync(folder, { recursive: true })
  }
})
