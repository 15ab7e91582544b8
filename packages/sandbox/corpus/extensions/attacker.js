// Helpers of the attacks. Nothing here is trusted; it only reports what was reached.

/** The code of an error, or else its name. */
export const codeOf = (error) => typeof error?.code === 'string' ? error.code : error?.name ?? String(error)

const written = (value) => {
  if (value === undefined || value === null) return null
  if (typeof value === 'string') return value.slice(0, 2_000)
  if (typeof value === 'number' || typeof value === 'boolean') return value
  if (value instanceof Uint8Array) return Buffer.from(value).toString('latin1').slice(0, 2_000)
  if (Array.isArray(value)) return value.slice(0, 50).map(written)
  return typeof value
}

/** `{ got }` with the result, or the code of the error. */
export async function attempt(work) {
  try {
    return { got: written(await work()) }
  } catch (error) {
    return codeOf(error)
  }
}

/** A member that lockdown removes. Throws `absent` if it is gone. */
export function use(object, name) {
  const value = object?.[name]
  if (value === undefined || value === null) throw Object.assign(new Error(`${name} is absent`), { code: 'absent' })
  return typeof value === 'function' && !/^[A-Z]/.test(name) ? value.bind(object) : value
}

/** The value. Throws `constant` if it is the one that every compartment shows. */
export function other(value, constant) {
  if (value === constant) throw Object.assign(new Error('a constant'), { code: 'constant' })
  return value
}

/** A builtin module, by every way to get one. Throws the error of the first way. */
export async function reach(name) {
  const routes = [
    () => import(`node:${name}`),
    () => import(name),
    () => process.getBuiltinModule(name),
    () => require(name),
    () => process.mainModule.require(name),
    () => process.constructor.prototype.getBuiltinModule(name),
    () => globalThis.process.binding(name),
    () => Function('return import')()(`node:${name}`),
  ]
  let first
  for (const route of routes) {
    try {
      const module = await route()
      if (module) return module.default ?? module
    } catch (error) {
      first ??= error
    }
  }
  throw first
}

/** A module of Node. Throws `shim` for the part of one that exists over `runtime`. */
export function real(module) {
  if ('readFile' in module && module.constants?.O_RDONLY === undefined) {
    throw Object.assign(new Error('a shim'), { code: 'shim' })
  }
  return module
}

/** Settles with the first of these events of an emitter; `error` rejects. */
export const event = (emitter, ...names) => new Promise((resolve, reject) => {
  emitter.once('error', reject)
  for (const name of names) emitter.once(name, (value) => resolve(`${name} ${String(value ?? '').slice(0, 200)}`))
})

/** A module that throws its refusal at every use if it is denied, so that one case can try many of its calls. */
export const library = (name) => reach(name).catch((error) => new Proxy({}, {
  get(_, key) {
    if (key === 'then') return undefined
    throw error
  },
}))
