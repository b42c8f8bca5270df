/** The views of a page. The one that is shown is in the address. */
export function Tabs<T extends string>({
  label,
  tabs,
  shown,
  onChange,
}: {
  label: string
  tabs: Readonly<Record<T, string>>
  shown: T
  onChange: (tab: T) => void
}) {
  return (
    <nav className="tabs" aria-label={label}>
      {(Object.keys(tabs) as T[]).map((tab) => (
        <button
          type="button"
          key={tab}
          aria-current={tab === shown ? 'page' : undefined}
          onClick={() => onChange(tab)}
        >
          {tabs[tab]}
        </button>
      ))}
    </nav>
  )
}
