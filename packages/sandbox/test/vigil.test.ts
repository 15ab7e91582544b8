import { expect, test } from 'vitest'
import { Vigil } from '../src/wire/vigil.ts'

const awake = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Immediate').length
const pass = (ms: number): void => {
  const until = performance.now() + ms
  while (performance.now() < until);
}
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

/** As many words and quick answers as it takes: a machine that holds up the thread in between makes some of them slow. */
function inFullSwing(): Vigil {
  const vigil = new Vigil()
  const before = awake()
  for (let count = 0; awake() === before && count < 100_000; count++) {
    vigil.said()
    vigil.heard()
  }
  return vigil
}

test('nobody stays awake for the first words, nor where what is won is lost again', () => {
  const vigil = new Vigil()
  const before = awake()
  for (let count = 0; count < 640; count++) {
    vigil.said()
    if (count > 0 && count % 16 === 0) pass(0.3)
    vigil.heard()
    expect(awake()).toBe(before)
  }
})

test('a long conversation is not put to sleep by one slow word', async () => {
  const before = awake()
  const vigil = inFullSwing()
  for (let count = 0; count < 1_000; count++) {
    vigil.heard()
    vigil.said()
  }
  pass(0.3)
  await turn()
  expect(awake()).toBeLessThanOrEqual(before)
  vigil.heard()
  vigil.said()
  expect(awake()).toBe(before + 1)
})

test('in full swing a side stays awake for the next word, and for a moment only', async () => {
  const before = awake()
  const vigil = inFullSwing()
  expect(awake()).toBe(before + 1)
  vigil.heard()
  vigil.said()
  expect(awake()).toBe(before + 1)
  pass(0.3)
  await turn()
  expect(awake()).toBeLessThanOrEqual(before)
})

test('nobody stays awake for what has come', async () => {
  const before = awake()
  const vigil = inFullSwing()
  vigil.said()
  vigil.heard()
  await turn()
  expect(awake()).toBeLessThanOrEqual(before)
})
