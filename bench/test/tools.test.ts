import { expect, it } from 'vitest'
import { subject } from '../src/subjects/tools.ts'

it('pins the goals of the bundled tools', () => {
  expect(subject.goals.map(({ side, is, ratio, against }) => `${side} ${is} ${ratio} × ${against}`)).toEqual([
    'grep ≤ 1.3 × bare rg', 'glob ≤ 1.5 × rg --files', 'read ≤ 1 × twice fs.readFile and one pipeline',
    'edit ≤ 3 × reading and writing',
  ])
})
