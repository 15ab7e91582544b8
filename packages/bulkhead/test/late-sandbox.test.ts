import type { CompartmentRequest, CompartmentSession, Sandbox } from '@bulkhead/contract'
import { expect, it } from 'vitest'
import { lateSandbox } from '../src/facade/late-sandbox.ts'

const request = {} as CompartmentRequest
const session = {} as CompartmentSession

/** One that notes what is asked of it. */
function noting() {
  const notes: string[] = []
  const made: Sandbox = {
    open: async () => { notes.push('open'); return session },
    close: async () => { notes.push('close') },
  }
  return { notes, make: async () => { notes.push('make'); return made } }
}

it('is made by the first opening, once, and closed as it is', async () => {
  const { notes, make } = noting()
  const late = lateSandbox(make)
  expect(notes).toEqual([])
  expect(await Promise.all([late.open(request), late.open(request)])).toEqual([session, session])
  await late.close()
  expect(notes).toEqual(['make', 'open', 'open', 'close'])
})

it('is never made when it is closed before', async () => {
  const { notes, make } = noting()
  const late = lateSandbox(make)
  await late.close()
  await expect(late.open(request)).rejects.toMatchObject({ code: 'HostClosed' })
  expect(notes).toEqual([])
})

it('is closed also when it was being made', async () => {
  const { notes, make } = noting()
  const going = Promise.withResolvers<void>()
  const late = lateSandbox(async () => { await going.promise; return make() })
  const opening = late.open(request)
  const closing = late.close()
  going.resolve()
  await Promise.all([opening, closing])
  expect(notes.at(-1)).toBe('close')
})

it('what could not be made is tried again', async () => {
  const { make } = noting()
  let tries = 0
  const late = lateSandbox(async () => {
    if (++tries === 1) throw new Error('no memory')
    return make()
  })
  await expect(late.open(request)).rejects.toThrow('no memory')
  await expect(late.open(request)).resolves.toBe(session)
})

it('does not blame an extension for a system without room, and is made again', async () => {
  const { make } = noting()
  let tries = 0
  const late = lateSandbox(async () => {
    if (++tries === 1) throw Object.assign(new Error("EMFILE: too many open files, open '/a/module.ts'"), { code: 'EMFILE' })
    return make()
  })
  await expect(late.open(request)).rejects.toMatchObject({ code: 'NoPlaceFree', message: expect.stringContaining('EMFILE') })
  expect(await late.open(request)).toBe(session)
})

it('prepares once for code of strangers, again where that failed, and not for our own', async () => {
  const { make, notes } = noting()
  const late = lateSandbox(make, async () => {
    notes.push('prepare')
    if (notes.filter((note) => note === 'prepare').length === 1) throw new Error('EMFILE: too many open files')
  })
  await late.open({ placement: 'inline' } as CompartmentRequest)
  await expect(late.open(request)).rejects.toMatchObject({ code: 'NoPlaceFree' })
  await late.open(request)
  await late.open(request)
  expect(notes).toEqual(['make', 'open', 'prepare', 'prepare', 'open', 'open'])
})
