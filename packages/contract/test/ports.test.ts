import { expect, it } from 'vitest'
import { PLACEMENTS } from '../src/model/names.ts'
import { BROKER_METHODS } from '../src/ports/runtime-parts.ts'
import { STORE_COLLECTIONS } from '../src/ports/store.ts'

it('a compartment may call exactly these broker methods, each with its runtime part', () => {
  expect(BROKER_METHODS).toEqual({
    'fs.read': 'fs.read', 'fs.list': 'fs.read', 'fs.stat': 'fs.read', 'fs.glob': 'fs.read', 'fs.find': 'fs.read',
    'fs.search': 'fs.read', 'fs.watch': 'fs.read',
    'fs.watch.next': 'fs.read',
    'fs.write': 'fs.write', 'fs.edit': 'fs.write', 'fs.apply': 'fs.write', 'fs.remove': 'fs.write',
    'fs.undo': 'fs.write', 'net.fetch': 'net', 'net.read': 'net',
    'shell.run': 'shell', 'shell.pipe': 'shell',
    'env.get': 'env', 'secrets.handle': 'secrets', 'state.read': 'state', 'state.write': 'state',
    'interact': 'interact', 'tools.call': 'tools',
    'session.read': 'session', 'session.write': 'session',
    'step.begin': null, 'step.end': null, 'progress': null, 'update': null, 'log': null,
  })
})

it('these are the placements and collections', () => {
  expect(PLACEMENTS).toEqual(['inline', 'thread', 'process'])
  expect(STORE_COLLECTIONS).toEqual([
    'state', 'approval', 'paused', 'trust', 'call', 'outcome', 'session', 'budget', 'client', 'question',
    'recording', 'capture',
  ])
})
