import { expect, it } from 'vitest'
import { PLACEMENTS } from '../src/model/names.ts'
import { STORE_COLLECTIONS } from '../src/ports/store.ts'
import { BROKER_METHODS, CHANNELS, COMPARTMENT_METHODS, POWERS, WIRE_LIMITS, type CompartmentMethods } from '../src/wire.ts'

it('has exactly these channels and limits', () => {
  expect(CHANNELS).toEqual(['call', 'broker'])
  expect(WIRE_LIMITS).toEqual({ idChars: 128, errorTextChars: 10_000, errorDepth: 4, jsonDepth: 72 })
})

it('lets the host ask exactly this of a compartment', () => {
  expect(COMPARTMENT_METHODS).toEqual(['load', 'lifecycle', 'execute', 'deriveApprovalKey', 'migrateState', 'abort'])
  const whole: keyof CompartmentMethods extends (typeof COMPARTMENT_METHODS)[number] ? true : false = true
  expect(whole).toBe(true)
})

it('lets a compartment ask exactly this of the broker, each with its power', () => {
  expect(BROKER_METHODS).toEqual({
    'fs.read': 'fs.read', 'fs.list': 'fs.read', 'fs.stat': 'fs.read', 'fs.glob': 'fs.read', 'fs.find': 'fs.read',
    'fs.search': 'fs.read', 'fs.watch': 'fs.read',
    'fs.watch.next': 'fs.read',
    'fs.write': 'fs.write', 'fs.edit': 'fs.write', 'fs.remove': 'fs.write', 'net.fetch': 'net', 'net.read': 'net',
    'shell.run': 'shell', 'shell.pipe': 'shell',
    'env.get': 'env', 'secrets.handle': 'secrets', 'state.read': 'state', 'state.write': 'state', 'interact': 'interact', 'tools.call': 'tools',
    'session.read': 'session', 'session.write': 'session',
    'progress': null, 'update': null, 'log': null,
  })
  expect(POWERS).toEqual(['fs.read', 'fs.write', 'net', 'shell', 'env', 'secrets', 'state', 'interact', 'tools', 'session'])
  expect(new Set(Object.values(BROKER_METHODS).filter((power) => power !== null))).toEqual(new Set(POWERS))
})

it('has exactly these placements and collections', () => {
  expect(PLACEMENTS).toEqual(['inline', 'thread', 'process'])
  expect(STORE_COLLECTIONS).toEqual(['state', 'approval', 'paused', 'trust', 'call'])
})
