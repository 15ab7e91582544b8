import EventEmitter from 'node:events'

/** Captured before extension code runs, which could replace them. */
const { defineProperty, freeze, getOwnPropertyDescriptor, getPrototypeOf, preventExtensions } = Object
const { ownKeys } = Reflect
const Objects = Set<object>
const Refusal = TypeError
const text = String

/**
 * Prototypes whose members are often assigned on derived objects (`this.name = …` in an error, `toString` in a class,
 * `_events` by EventEmitter). Freezing would forbid that, so their members become accessors that define the property on
 * the derived object.
 */
const OVERRIDABLE: readonly object[] = [
  Object.prototype, Function.prototype, Error.prototype, AggregateError.prototype, EvalError.prototype,
  RangeError.prototype, ReferenceError.prototype, SyntaxError.prototype, TypeError.prototype, URIError.prototype,
  Promise.prototype, EventEmitter.prototype, EventTarget.prototype, Event.prototype, WeakMap.prototype,
]

const ArrayIterator = Object.getPrototypeOf([][Symbol.iterator]()) as object
const AsyncFunction = (async () => undefined).constructor
const GeneratorFunction = (function* () { yield undefined }).constructor
const AsyncGeneratorFunction = (async function* () { yield undefined }).constructor
const TypedArray = Object.getPrototypeOf(Uint8Array) as object

/** Each with its prototype, and everything they inherit from. */
const FROZEN: readonly object[] = [
  Object, Function, AsyncFunction, GeneratorFunction, AsyncGeneratorFunction, Array, String, Number, Boolean, Symbol,
  BigInt, Date, RegExp, Promise, Proxy, Reflect, JSON, Math, Map, Set, WeakMap, WeakSet, WeakRef, FinalizationRegistry,
  AggregateError, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError, ArrayBuffer, DataView,
  TypedArray, Uint8Array, Int8Array, Uint16Array, Int16Array, Uint32Array, Int32Array, BigUint64Array, BigInt64Array,
  Uint8ClampedArray, Float32Array, Float64Array, Buffer, Iterator, ArrayIterator, EventEmitter, EventTarget, Event,
  AbortController, AbortSignal, MessagePort, URL, URLSearchParams, TextEncoder, TextDecoder, new
  Map()[Symbol.iterator](), new Set()[Symbol.iterator](), ''[Symbol.iterator](), Error,
]

/** What the `buffer` of browser builds assigns on its class. Accessors for all members would slow down every array. */
const OVERRIDABLE_OF_ARRAYS: ReadonlySet<PropertyKey> = new Set([
  'fill', 'includes', 'indexOf', 'lastIndexOf', 'slice', 'toLocaleString', 'toString',
])

/** Freezes the intrinsics that our own code uses, so that an extension cannot intercept it. */
export function freezeIntrinsics(more: readonly object[]): void {
  describeOverridable()
  allowOverride((TypedArray as { readonly prototype: object }).prototype, (key) => OVERRIDABLE_OF_ARRAYS.has(key))
  freezeParts([...FROZEN, ...more], OVERRIDABLE)
}

/** The same for parts of Node that are loaded later. Contract: can be repeated after a failure. */
export function freezeParts(parts: readonly object[], overridable: readonly object[]): void {
  for (const prototype of overridable) allowOverride(prototype)
  const done = new Objects()
  for (const object of parts) {
    freezeChain(object, done)
    if (typeof object === 'function') freezeChain(object.prototype as object | undefined, done)
  }
}

function freezeChain(object: object | null | undefined, done: Set<object>): void {
  for (let at = object; at && !done.has(at); at = getPrototypeOf(at) as object | null) {
    done.add(at)
    freezeBut(at, EXCEPT.get(at))
  }
}

/** Properties that libraries assign, without risk. */
type IsKey = (key: string | symbol) => boolean
const EXCEPT: ReadonlyMap<object, IsKey> = new Map<object, IsKey>([
  // Libraries set how long their stack traces are.
  [Error, (key) => key === 'stackTraceLimit'],
  // Every new emitter assigns it, and Node defined it so that it cannot become an accessor.
  [EventEmitter.prototype, (key) => typeof key === 'symbol' && key.description === 'kCapture'],
])

function freezeBut(object: object, except: ((key: string | symbol) => boolean) | undefined): void {
  if (except === undefined) return void freeze(object)
  preventExtensions(object)
  for (const key of ownKeys(object)) {
    if (except(key)) continue
    const accessor = 'get' in getOwnPropertyDescriptor(object, key)!
    defineProperty(object, key, accessor ? { configurable: false } : { configurable: false, writable: false })
  }
}

/** The members that became accessors, by their getter. */
const members = new WeakMap<() => unknown, unknown>()

/** Libraries copy members by their descriptor, so it shows what the member was. */
function describeOverridable(): void {
  const described = (target: object, key: PropertyKey): PropertyDescriptor | undefined => {
    const property = getOwnPropertyDescriptor(target, key)
    if (property?.get === undefined || !members.has(property.get)) return property
    return { value: members.get(property.get), writable: true, enumerable: property.enumerable!, configurable: false }
  }
  for (const object of [Object, Reflect]) {
    defineProperty(object, 'getOwnPropertyDescriptor', { value: described, writable: true, configurable: true })
  }
}

function allowOverride(prototype: object, isOverridable: IsKey = () => true): void {
  for (const key of ownKeys(prototype)) {
    if (!isOverridable(key)) continue
    const property = getOwnPropertyDescriptor(prototype, key)!
    if (!property.configurable || !('value' in property)) continue
    const { value, enumerable } = property as { readonly value: unknown; readonly enumerable: boolean }
    const get = (): unknown => value
    members.set(get, value)
    defineProperty(prototype, key, {
      configurable: false,
      enumerable,
      get,
      set(this: unknown, replacement: unknown) {
        if (this === prototype || typeof this !== 'object' && typeof this !== 'function' || this === null) {
          throw new Refusal(`Cannot assign to read only property '${text(key)}' of a frozen prototype`)
        }
        defineProperty(this, key, { value: replacement, writable: true, enumerable: true, configurable: true })
      },
    })
  }
}
