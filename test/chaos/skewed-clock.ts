// Preloaded into each process of a chaos run: SIGUSR2 moves its clock five minutes ahead, and back again.

const machine = Date
let ahead = 0

globalThis.Date = new Proxy(machine, {
  construct: (_target, args) =>
    args.length === 0 ? new machine(machine.now() + ahead) : Reflect.construct(machine, args),
  get: (target, name) => (name === 'now' ? () => machine.now() + ahead : Reflect.get(target, name)),
}) as DateConstructor

process.on('SIGUSR2', () => {
  ahead = ahead === 0 ? 300_000 : 0
})
