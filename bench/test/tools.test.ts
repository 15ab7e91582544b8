import { expect, it } from 'vitest'
import { tools } from '../src/subjects/tools.ts'

it('compares each bundled tool with what it uses', () => {
  expect(tools.ratios.map(({ side, against }) => `${side} against ${against}`)).toEqual([
    'grep against bare rg', 'glob against rg --files', 'read against twice fs.readFile and one pipeline',
    'edit against reading and writing',
  ])
})
