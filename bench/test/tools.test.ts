import { stat } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { editTool, readTool } from '../src/sides/tools/files.ts'
import { shareGround } from '../src/sides/tools/ground.ts'
import { bareSearch, globTool, grepTool } from '../src/sides/tools/searching.ts'
import { subject } from '../src/subjects/tools.ts'

describe('the bundled tools', { timeout: 120_000 }, () => {
  it('have these goals', () => {
    expect(subject.goals.map(({ side, is, ratio, against }) => `${side} ${is} ${ratio} × ${against}`)).toEqual([
      'grep ≤ 1.3 × bare rg', 'glob ≤ 1.5 × rg --files', 'read ≤ 1 × twice fs.readFile and one pipeline', 'edit ≤ 3 × reading and writing',
    ])
  })

  it('answer rightly over the same ground as what they are held against, and leave nothing', async () => {
    const sides = [bareSearch, grepTool, globTool, readTool, editTool]
    const runners = await Promise.all(sides.map((side) => side.start()))
    for (const [index, runner] of runners.entries()) {
      for (const i of [0, 1]) expect(await runner.run(i)).toEqual(sides[index]!.answer())
    }
    const { workspace, release } = await shareGround()
    await Promise.all(runners.map((runner) => runner.stop()))
    expect((await stat(workspace)).isDirectory()).toBe(true)
    await release()
    await expect(stat(workspace)).rejects.toMatchObject({ code: 'ENOENT' })
  })
})
