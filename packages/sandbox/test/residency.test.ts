import { expect, it } from 'vitest'
import { RESIDENCY, Residency } from '../src/session/residency.ts'

function opened(): Residency {
  const residency = new Residency()
  residency.on('open')
  residency.on('opened')
  return residency
}

it('is cold, warms up, and is idle when it is open', () => {
  const residency = new Residency()
  expect(residency.state).toBe('cold')
  residency.on('open')
  expect(residency.state).toBe('warming')
  residency.on('opened')
  expect(residency.state).toBe('idle')
})

it('is busy from the first request to the end of the last', () => {
  const residency = opened()
  residency.begin()
  residency.begin()
  residency.end()
  expect([residency.state, residency.idleMs]).toEqual(['busy', 0])
  residency.end()
  expect(residency.state).toBe('idle')
})

it('is busy at once when requests waited for it', () => {
  const residency = new Residency()
  residency.begin()
  residency.on('open')
  residency.on('opened')
  expect(residency.state).toBe('busy')
  residency.end()
  expect(residency.state).toBe('idle')
})

it('is cold again after an eviction', () => {
  const residency = opened()
  residency.on('evict')
  expect([residency.state, residency.idleMs]).toEqual(['cooling', 0])
  residency.on('evicted')
  expect(residency.state).toBe('cold')
})

it('refuses an event that the table does not have', () => {
  const residency = opened()
  residency.begin()
  expect(() => residency.on('evict')).toThrow('busy')
  residency.on('end')
  expect(() => residency.on('open')).toThrow('gone')
})

it('ends from every state but the last', () => {
  expect(Object.entries(RESIDENCY).filter(([, cells]) => !('end' in cells)).map(([state]) => state)).toEqual(['gone'])
})
