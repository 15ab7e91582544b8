import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agentManifestSchema } from '@bulkhead/contract/validation'
import { expect, it } from 'vitest'
import { LONG } from '../../../../scripts/thoroughly.ts'
import { runProgram } from '../program-inside.ts'
import { BLOCKS, ROOT } from './blocks.ts'

const own = BLOCKS.filter(({ page }) => page === 'docs/guides/agents.md')
const block = (file: string) => own.find((one) => one.file === file)!

it.each(['review.ts', 'surface.ts'])('the program %s of the guide prints what the page says', LONG, async (file) => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-agents-guide-')))
  try {
    for (const name of ['secrets', 'node_modules', 'home']) mkdirSync(join(folder, name))
    symlinkSync(join(ROOT, 'packages/bulkhead'), join(folder, 'node_modules/bulkhead'))
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    for (const name of ['README.md', 'secrets/key']) writeFileSync(join(folder, name), 'text\n')
    writeFileSync(join(folder, file), block(file).text)
    const ran = await runProgram({ file, cwd: folder, env: { PATH: process.env['PATH'], HOME: join(folder, 'home') } })
    expect(ran).toMatchObject({ code: 0, stdout: own[own.indexOf(block(file)) + 1]!.text })
  } finally {
    rmSync(folder, { recursive: true })
  }
})

it('the file of the guide is an agent', () => {
  expect(agentManifestSchema.safeParse(JSON.parse(block('agents/reviewer.json').text)).error).toBeUndefined()
})
