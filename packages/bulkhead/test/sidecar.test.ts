import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, it } from 'vitest'
import { createSidecar } from '../src/facade/sidecar.ts'

it('keeps long results per session, private to the user, and removes them with it', async () => {
  const sidecar = createSidecar()
  const path = await sidecar.save('s1', '../../../etc/c1', 'the whole')
  const other = await sidecar.save('s2', 'c1', 'another')
  expect(readFileSync(path, 'utf8')).toBe('the whole')
  expect([...sidecar.files('s1')]).toEqual([path])
  expect([...sidecar.files('s3')]).toEqual([])
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(path).not.toContain('etc')
  expect(dirname(await sidecar.save('s1', 'c2', ''))).toBe(dirname(path))
  await sidecar.discard('s1')
  await sidecar.discard('s1')
  expect(existsSync(path)).toBe(false)
  expect([...sidecar.files('s1')]).toEqual([])
  expect(existsSync(other)).toBe(true)
  await expect(sidecar.save('s1', 'c3', 'too late')).rejects.toMatchObject({ code: 'SessionCancelled' })
  await sidecar.discard('s2')
  expect(existsSync(dirname(other))).toBe(false)
})

it('does not remember sessions that ended', async () => {
  const sidecar = createSidecar()
  for (let ended = 0; ended <= 1_000; ended++) await sidecar.discard(`s${ended}`)
  await expect(sidecar.save('s1000', 'c', 'late')).rejects.toMatchObject({ code: 'SessionCancelled' })
  await expect(sidecar.save('s1', 'c', 'late')).rejects.toMatchObject({ code: 'SessionCancelled' })
  expect(await sidecar.save('s0', 'c', 'of another')).toContain('results')
  await sidecar.discard('s0')
})

it('removes files of a killed host, and none of a running one', async () => {
  const code = `
    const { createSidecar } = await import(${JSON.stringify(new URL('../src/facade/sidecar.ts', import.meta.url).href)})
    console.log(await createSidecar().save('s', 'c', 'left'))
    process.kill(process.pid, 'SIGKILL')`
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' })
  const left = stdout.trim()
  const [living, next] = [createSidecar(), createSidecar()]
  const kept = await living.save('s', 'c', 'kept')
  expect(existsSync(left)).toBe(false)
  await next.save('s', 'c', 'x')
  expect(existsSync(kept)).toBe(true)
  await Promise.all([living.discard('s'), next.discard('s')])
})
